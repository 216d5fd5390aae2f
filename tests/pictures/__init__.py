"""Pictures of the error analysis, every screen and state of it in every setting; see the README."""
