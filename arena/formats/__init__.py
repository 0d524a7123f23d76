"""File formats of votes, one file a format."""
