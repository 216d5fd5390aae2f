"""Identifiers of people in what reviewers write: such words leave the machine and may hold none.

MIMIC-IV numbers patients, admissions and stays with eight digits, which nothing else in a review
has. eICU's patients have a form of their own (``002-33870``), but its stays are plain numbers of
six or seven digits, as items and counts are too: those are told by the word that names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BEFORE, _AFTER = r"(?<![0-9A-Za-z])(?<!\d[.,])", r"(?![0-9A-Za-z]|[.,]\d)"
_MIMIC = re.compile(rf"{_BEFORE}[1-3]\d{{7}}{_AFTER}")
_EICU_PATIENT = re.compile(r"(?<![0-9A-Za-z-])0\d\d-\d{4,6}(?![0-9A-Za-z-]|\.\d)")
_ONE = (
    r"(?:(?:patient)?(?:unit|health\s?system|icu)?[\s_]?stay[\s_]?(?:ids?|numbers?)"
    r"|(?:patient|person|admission|encounter|hadm|subject)[\s_]?(?:ids?|numbers?)|pids?"
    r"|patient|(?:unit|icu)?[\s_]?stay|admission|encounter|person)"
)
_MANY = r"(?:patients|(?:unit|icu)?[\s_]?stays|admissions|encounters|persons)"
_COUNTED = (
    r"(?!\s*(?:rows?|values?|records?|events?|stays?|patients?|admissions?|hours?|measurements?"
    r"|items?|entries|%)\b)"
)
_NUMBER = rf"{_BEFORE}\d{{6,8}}{_AFTER}{_COUNTED}"
_LIST = r"(?:\d{1,8}\s*(?:,|;|and|or|&|-)\s*)*"
_NAMED = re.compile(
    # After many of them a colon or an equals sign gives their count.
    rf"(?<![A-Za-z])(?:{_ONE}\b(?:[\s=:#'\"(\[]|\b(?:in|is|was|no)\b\.?)*"
    rf"|{_MANY}\b(?:[\s#'\"(\[]|\b(?:ids?|numbers?|in)\b)*){_LIST}{_NUMBER}",
    re.IGNORECASE,
)


def may_name_a_person(text: str) -> bool:
    """Does a text hold a number that may be a patient's, an admission's or a stay's?"""
    return any(each.search(text) for each in (_MIMIC, _EICU_PATIENT, _NAMED))


def values_name_a_person(value: Any, name: str = "") -> bool:
    """The same for JSON values, whose numbers are told by the names that they have.

    Args:
        value: any JSON value.
        name: of the field that holds it.
    """
    if isinstance(value, str):
        return may_name_a_person(value) or may_name_a_person(f"{name}={value}")
    if isinstance(value, Mapping):
        return any(
            may_name_a_person(str(key)) or values_name_a_person(part, str(key))
            for key, part in value.items()
        )
    if isinstance(value, list | tuple):
        return any(values_name_a_person(part, name) for part in value)
    return _is_number(value) and _NAMED.search(f"{name}={value}") is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
