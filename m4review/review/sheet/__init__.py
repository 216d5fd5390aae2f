"""One task's review: written, under seal, or opened."""
