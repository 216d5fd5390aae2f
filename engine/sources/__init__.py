"""Sources: a user's data, registered and imported typed into one DuckDB file each."""

from engine.sources.adding import add_source
from engine.sources.info import MissingTable, SourceInfo, TableInfo
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
    "Kind",
    "KindFacts",
    "MissingTable",
    "SourceInfo",
    "Table",
    "TableInfo",
    "add_source",
    "facts",
    "find_source",
    "known_source",
    "list_sources",
    "open_source",
    "remove_source",
    "writing_source",
]
