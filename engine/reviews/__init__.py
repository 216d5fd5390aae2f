"""Double review: who says what about which text, sealed until everybody has said it.

A ledger of signed entries, one file each, that workstations exchange as bundles.
"""
