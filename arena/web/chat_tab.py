"""The tab of the chat with one named model. What happens in it goes over `chat_api.py`."""

import gradio as gr

from arena.web.live_view import chat_html


class ChatTab:
    """The component of the tab as an attribute."""

    def __init__(self, models: int) -> None:
        self.page = gr.HTML(chat_html(models), elem_id="chat-tab", padding=False)
