"""Item bank: its store, ingest and importers."""
