"""The control conditions: what is put before an agent in place of the task's own skill."""

from engine.controls.decoys import decoy_name, decoy_skill
from engine.controls.distinct import every_skill
from engine.controls.rawsql import GeneratedSkill, raw_sql, raw_sql_skill

__all__ = [
    "GeneratedSkill",
    "decoy_name",
    "decoy_skill",
    "every_skill",
    "raw_sql",
    "raw_sql_skill",
]
