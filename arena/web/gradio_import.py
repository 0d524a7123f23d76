"""Gradio import: imports Gradio two seconds faster.

During its import, Gradio parses the source of each component to write a stub for editors beside it, unless it can't
find the source. Here it can't. It also compiles the docstring of each component's events as a jinja2 template, 200
times in all. Here the docstrings stay as they are.
"""

import inspect

import jinja2


def _not_found(_: object) -> str:
    raise FileNotFoundError


class _Docstring:
    def __init__(self, text: str) -> None:
        self._text = text

    def render(self, **_: object) -> str:
        return self._text


_getfile = inspect.getfile
inspect.getfile = _not_found
_template = jinja2.Template
jinja2.Template = _Docstring
try:
    import gradio as gr
finally:
    inspect.getfile = _getfile
    jinja2.Template = _template

__all__ = ["gr"]
