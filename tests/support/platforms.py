"""A fake platform of crowd workers, which frames a page as MTurk does and links to one as Prolific does."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, urlencode, urlsplit

from arena.seats.links import PREVIEW


class Platform:
    """The site; `submitted` are the forms that browsers posted to it when work was done."""

    def __init__(self, port: int) -> None:
        self.address = f"http://localhost:{port}"
        """Another site than the app's, which is 127.0.0.1: the frame is a third party's, as at MTurk."""
        self.link = ""
        """Of the campaign, as the app made it."""
        self.assignment = ""
        """Of the HIT that was accepted last."""
        self.submitted: list[dict[str, str]] = []

    def hit(self, worker: str = "", assignment: str = PREVIEW) -> str:
        """The address of a HIT's page, of a preview unless a worker accepted it."""
        return f"{self.address}/hit?{urlencode({'worker': worker, 'assignment': assignment})}"

    def study(self, person: str, session: str) -> str:
        return f"{self.address}/study?{urlencode({'person': person, 'session': session})}"

    def page(self, path: str, query: dict[str, str]) -> str:
        if path == "/hit":
            ids = {"hitId": "HIT1", "assignmentId": query["assignment"]}
            if query["worker"]:
                ids |= {"workerId": query["worker"], "turkSubmitTo": self.address}
            source = escape(f"{self.link}&{urlencode(ids)}")
            style = "border: 0; width: 100%; height: 90vh; display: block"
            return f'<h1>HIT</h1><iframe title="The work" src="{source}" style="{style}"></iframe>'
        if path == "/study":
            link = self.link
            ids = {
                "PROLIFIC_PID": query["person"],
                "SESSION_ID": query["session"],
                "STUDY_ID": "S1",
            }
            for name, value in ids.items():
                link = link.replace(f"{{{{%{name}%}}}}", value)
            return f'<h1>Study</h1><a href="{escape(link)}">Open study link</a>'
        return "<h1>Nothing here</h1>"


@contextmanager
def platform() -> Iterator[Platform]:
    """Run a platform."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            self._answer(
                site.page(parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)))
            )

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            site.submitted.append({"path": self.path, **dict(parse_qsl(body))})
            self._answer("<h1>Submitted</h1>")

        def _answer(self, body: str) -> None:
            content = f'<!doctype html><html lang="en"><title>Platform</title>{body}'.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args) -> None:
            """Say nothing: a test's own output is enough."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Platform(server.server_address[1])
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
