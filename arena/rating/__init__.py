"""Rating: fits, bootstraps and what carries them, and reports on one file of votes."""
