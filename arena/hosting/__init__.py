"""Hosting: where the app runs, what it tells of its health, and how much it takes."""
