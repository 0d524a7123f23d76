"""Votes from elsewhere: how they come in, are kept, and are read again."""
