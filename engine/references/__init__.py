"""The tables that agents' outputs are judged against, with manifests that fail closed."""

from engine.references.build import BuiltReference, build_references
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
    "BuiltReference",
    "Manifest",
    "ReferenceState",
    "Verified",
    "build_references",
    "find_target",
    "list_targets",
    "open_reference",
    "reference_state",
    "verify_references",
]
