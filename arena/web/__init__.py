"""Screens, routes and middleware: the only folder, beside `app`, that knows Gradio."""
