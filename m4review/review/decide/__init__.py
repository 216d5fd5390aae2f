"""The adjudicator's page."""
