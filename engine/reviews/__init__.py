"""Double review: who says what about which text, sealed until everybody has said it.

A ledger of signed entries, one file each, that workstations exchange as bundles.
"""

from engine.reviews.acts import Desk
from engine.reviews.state import State, state_of
from engine.reviews.worklist import Worklist, worklist

__all__ = ["Desk", "State", "Worklist", "state_of", "worklist"]
