"""Publishing a score: the scores that may leave under a benchmark's name, and the files for model repositories."""
