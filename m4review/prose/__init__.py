"""Two versions of a text beside each other, or in one column."""
