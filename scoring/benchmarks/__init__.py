"""The benchmarks, one file each, and what recognises their files."""
