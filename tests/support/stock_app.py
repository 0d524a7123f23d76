"""A stock Gradio app of the components that such arenas are made of, all options as they come.

`python -m tests.support.stock_app PORT FOLDER` serves it in a process of its own; FOLDER becomes the working
directory and holds what an operator would not give away. The probes find its known holes, so that they can fail.
"""

import json
import os
import sys
from pathlib import Path

import gradio as gr
import numpy as np

ICON = Path(__file__).parents[2] / "arena" / "items" / "demo" / "pictures"


def page() -> gr.Blocks:
    """Build a page: a key, a vote kept in a State, an upload that is shown, a preview of rows."""
    with gr.Blocks(title="Stock arena") as built:
        key = gr.Textbox(label="Key", type="password")
        battle = gr.State("")
        picture = gr.Image(label="Picture")
        rows = gr.Dataframe(label="Preview")
        text, shown, chat = gr.Textbox(label="Prediction"), gr.HTML(), gr.Chatbot()
        vote, said = gr.Button("Vote", visible=False), gr.Textbox(label="Status")
        check, deal = gr.Button("Check"), gr.Button("Deal")
        deal.click(
            lambda name: (name, "dealt"),
            text,
            [battle, said],
            api_name="deal",
            api_visibility="private",
        )
        vote.click(
            lambda name: f"voted in {name}", battle, said, api_name="vote", api_visibility="private"
        )
        check.click(lambda value: "checked", key, said, api_name="check", api_visibility="private")
        picture.upload(
            lambda pixels: str(np.shape(pixels)),
            picture,
            said,
            api_name="look",
            api_visibility="private",
        )
        text.change(
            lambda value: [[json.loads(value)]],
            text,
            rows,
            api_name="rows",
            api_visibility="private",
        )
        text.submit(json.loads, text, shown, api_name="show", api_visibility="private")
        text.blur(
            lambda value: [{"role": "user", "content": json.loads(value)}], text, chat, api_name="chat",
            api_visibility="private",
        )  # fmt: skip
    return built


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    page().launch(
        server_port=int(sys.argv[1]), favicon_path=str(next(ICON.glob("*.webp"))), quiet=True
    )
