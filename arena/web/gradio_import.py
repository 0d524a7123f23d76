"""Gradio, imported so that a server starts two seconds earlier.

While it is imported, Gradio parses the source of each of its components to write a stub for editors beside it, unless
it cannot find the source: it does not find it here. It fills in the same few docstrings for each component: each is
read as a template once.
"""

import inspect
from functools import cache

import jinja2


def _not_found(_: object) -> str:
    raise FileNotFoundError


_getfile, inspect.getfile = inspect.getfile, _not_found
_template, jinja2.Template = jinja2.Template, cache(jinja2.Template)  # type: ignore[misc]
try:
    import gradio as gr
finally:
    inspect.getfile, jinja2.Template = _getfile, _template  # type: ignore[misc]

__all__ = ["gr"]
