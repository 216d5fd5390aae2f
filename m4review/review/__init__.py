"""Double review in the window: the list, one review, one adjudication, flags from other screens."""
