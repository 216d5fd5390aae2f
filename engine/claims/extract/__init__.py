"""What a text claims, kind by kind."""
