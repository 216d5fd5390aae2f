"""Sources: a user's data, registered and imported typed into one DuckDB file each."""

from engine.sources.adding import add_source
from engine.sources.info import MissingTable, SourceInfo, TableInfo
from engine.sources.policy import (
    Decision,
    Policy,
    Ruling,
    allow_provider,
    may_export,
    permit,
    revoke,
    source_policy,
)
from engine.sources.registry import (
    find_source,
    known_source,
    list_sources,
    open_source,
    remove_source,
    writing_source,
)
from engine.sources.schema import KINDS, NULL_STRINGS, Kind, KindFacts, Table, facts

__all__ = [
    "KINDS",
    "NULL_STRINGS",
    "Decision",
    "Kind",
    "KindFacts",
    "MissingTable",
    "Policy",
    "Ruling",
    "SourceInfo",
    "Table",
    "TableInfo",
    "add_source",
    "allow_provider",
    "facts",
    "find_source",
    "known_source",
    "list_sources",
    "may_export",
    "open_source",
    "permit",
    "remove_source",
    "revoke",
    "source_policy",
    "writing_source",
]
