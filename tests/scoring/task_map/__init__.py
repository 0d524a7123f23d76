"""Task maps."""
