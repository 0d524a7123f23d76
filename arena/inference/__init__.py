"""Models under test: their catalog, how each kind answers, offline inference."""
