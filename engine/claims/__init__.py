"""Evidence for the claims of a skill: what it says, held against data, reference and texts."""

from engine.claims.evidence import check_evidence, check_texts, kept_evidence
from engine.claims.exporting import attachment, evidence_document, tells_small_counts
from engine.claims.extracting import extract_claims
from engine.claims.model import Across, Check, Claim, Evidence, Unread, Verdict

__all__ = [
    "Across",
    "Check",
    "Claim",
    "Evidence",
    "Unread",
    "Verdict",
    "attachment",
    "check_evidence",
    "check_texts",
    "evidence_document",
    "extract_claims",
    "kept_evidence",
    "tells_small_counts",
]
