"""Sources: what data there are, adding a folder, making synthetic data."""
