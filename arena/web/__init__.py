"""Gradio tabs, HTTP routes and middleware: only this folder, `app.py` and `server/zero_gpu.py` import Gradio."""
