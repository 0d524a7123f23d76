"""The parts of a board whose statistics are compared."""

import dataclasses

import numpy as np


def parts(value) -> list:
    """Return everything that findings hold, in order, arrays as their kind and bytes."""
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tobytes()]
    if dataclasses.is_dataclass(value):
        return [part for field in dataclasses.fields(value) for part in parts(getattr(value, field.name))]
    if isinstance(value, tuple):
        return [type(value).__name__, *(part for each in value for part in parts(each))]
    return [value]
