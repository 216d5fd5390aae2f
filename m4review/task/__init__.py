"""The task page: what is asked, how, by which rules it is judged, and its runs."""
