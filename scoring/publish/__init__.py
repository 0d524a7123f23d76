"""Publishing a score: what may leave under a benchmark's name, and the files for model repositories."""
