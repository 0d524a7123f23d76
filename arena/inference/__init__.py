"""Models under test: their catalogue, how each kind answers, offline inference."""
