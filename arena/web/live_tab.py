"""The tab of live battles. What happens in it goes over `live_api.py`, and none of it through Gradio's events."""

import gradio as gr

from arena.web.live_view import live_html


class LiveTab:
    """The component of the tab as an attribute."""

    def __init__(self, models: int) -> None:
        self.page = gr.HTML(live_html(models), elem_id="live-tab", padding=False)
