"""Gradio, imported so that a server starts two seconds earlier.

While it is imported, Gradio parses the source of each of its components to write a stub for editors beside it, unless
it cannot find the source: it does not find it here.
"""

import inspect


def _not_found(_: object) -> str:
    raise FileNotFoundError


_getfile, inspect.getfile = inspect.getfile, _not_found
try:
    import gradio as gr
finally:
    inspect.getfile = _getfile

__all__ = ["gr"]
