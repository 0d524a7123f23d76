"""Calibration: how far a judge is from people, an honest mean from few marks, and whether a judge has moved."""
