"""Live tab: battles on the visitor's own images. Its events go through `live_api.py`, none through Gradio."""

import gradio as gr

from arena.web.live_view import live_html


class LiveTab:
    """The tab's component as an attribute."""

    def __init__(self, models: int) -> None:
        self.page = gr.HTML(live_html(models), elem_id="live-tab", padding=False)
