"""What every screen stands on: theme, actions, jobs, settings, navigation, safe text."""
