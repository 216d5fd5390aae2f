"""What is checked, kind by kind: texts against texts and SQL, and claims against the data."""
