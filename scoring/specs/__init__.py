"""Specs: benchmarks as YAML files, from the schema to the report."""
