"""The item bank: its store, ingest and importers."""
