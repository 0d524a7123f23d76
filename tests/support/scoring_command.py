"""`python -m scoring` in a process, with a judge on loopback."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.openai_server import OpenAIServer
from tests.support.servers import ROOT

KEY = "sk-planted-command-77aa"


class Command:
    """The command line with its own data folder, key and judge."""

    def __init__(self, folder: Path, judge: OpenAIServer) -> None:
        self.folder, self.judge = folder, judge
        self.out = folder / "results"

    def __call__(self, *words: str, answer: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        asked = ["mm-vet", *words, "--judge", "test-judge", "--base-url", self.judge.address, "--out", str(self.out)]
        settings = {**os.environ, "DATA_DIR": str(self.folder / "data"), "OPENAI_API_KEY": KEY, **environ}
        call = [sys.executable, "-m", "scoring", *asked]
        done = subprocess.run(call, env=settings, cwd=ROOT, capture_output=True, text=True, input=answer, timeout=120)
        assert "Traceback" not in done.stderr and KEY not in done.stdout + done.stderr
        return done

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}
