"""Benchmarks: each prints ratios taken in one run on one machine."""
