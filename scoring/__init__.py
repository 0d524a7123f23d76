"""Scoring: uploaded model outputs go in, a judge reads them, and a report comes out."""
