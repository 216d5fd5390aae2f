"""The tables that agents' outputs are judged against, with manifests that fail closed."""

from engine.references.auditing import (
    AuditCount,
    AuditQuestion,
    audit_questions,
    audit_source,
)
from engine.references.build import BuiltReference, LeftOut, build_references, targets_left_out
from engine.references.manifest import Manifest
from engine.references.state import (
    ReferenceState,
    Verified,
    open_reference,
    reference_state,
    verify_references,
)
from engine.references.targets import find_target, list_targets

__all__ = [
    "AuditCount",
    "AuditQuestion",
    "BuiltReference",
    "LeftOut",
    "Manifest",
    "ReferenceState",
    "Verified",
    "audit_questions",
    "audit_source",
    "build_references",
    "find_target",
    "list_targets",
    "open_reference",
    "reference_state",
    "targets_left_out",
    "verify_references",
]
