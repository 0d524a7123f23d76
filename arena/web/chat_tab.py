"""Chat tab: a chat with one named model. Its events go through `chat_api.py`."""

import gradio as gr

from arena.web.live_view import chat_html


class ChatTab:
    """The tab's component as an attribute."""

    def __init__(self, models: int) -> None:
        self.page = gr.HTML(chat_html(models), elem_id="chat-tab", padding=False)
