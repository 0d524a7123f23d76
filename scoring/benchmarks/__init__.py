"""Benchmarks, one file each, and the detection of their files."""
