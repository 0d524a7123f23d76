"""Imported votes: their tables, the importer, the export of all votes, and polls."""
