"""Gradio, imported so that a server starts two seconds earlier.

While it is imported, Gradio parses the source of each of its components to write a stub for editors beside it, unless
it cannot find the source: it does not find it here. It also fills in the docstring of each event of each component as
a template of jinja2, compiled anew 200 times: here they stay as they are.
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
