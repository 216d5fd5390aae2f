"""All claims of one text."""

from __future__ import annotations

from engine.claims.extract.items import item_claims
from engine.claims.extract.rules import rule_claims
from engine.claims.extract.texts import code_claims, count_claims, text_claims
from engine.claims.extract.unread import unread_numbers
from engine.claims.model import Claim, Unread
from engine.claims.reading import Document, read_document
from engine.preflight.finding import Kind


def claims_of(document: Document) -> tuple[Claim, ...]:
    """What a text says, by place."""
    found = [
        *item_claims(document),
        *rule_claims(document),
        *text_claims(document),
        *code_claims(document),
        *count_claims(document),
    ]
    return tuple(sorted(found, key=lambda claim: (claim.line, claim.column, claim.kind)))


def extract_claims(kind: Kind, text: str) -> tuple[tuple[Claim, ...], tuple[Unread, ...]]:
    """The claims of a text as it stands in a file or an editor, and the numbers left over.

    Quick enough to be called while somebody types; needs no database.
    """
    document = read_document(kind, text)
    claims = claims_of(document)
    return claims, tuple(unread_numbers(document, claims))
