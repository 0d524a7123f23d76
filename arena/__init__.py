"""The arena: people compare two unnamed answers about an image and choose one; their votes become ratings."""
