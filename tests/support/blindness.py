"""The models' names in every spelling that an answer before the choice must not hold."""

import base64
import json
from html import escape
from urllib.parse import quote, quote_plus

from markupsafe import escape as templated


def spellings(name: str) -> tuple[set[bytes], set[str]]:
    """Return how a name may be written: exact bytes, and texts to look for in lower case."""
    raw = name.encode()
    exact = {raw.hex().encode(), raw.hex().upper().encode()}
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw)
        exact.add(whole[(0, 2, 3)[shift] : len(whole) // 4 * 4 - 4])
    exact |= {part.translate(bytes.maketrans(b"+/", b"-_")) for part in exact}
    dumped = json.dumps(name)[1:-1]
    written = {
        name,
        escape(name),
        escape(name, quote=False),
        quote(name),
        quote(name, safe=""),
        quote_plus(name),
    }
    written |= {
        dumped,
        dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        escape(dumped),
    }
    written |= {str(templated(name)), str(templated(dumped))}
    return exact, {text.lower() for text in written}


def told(names: set[str], data: bytes) -> set[str]:
    """Return the names that some bytes tell."""
    lower = data.decode("utf-8", "replace").lower()
    found = set()
    for name in names:
        exact, written = spellings(name)
        if any(part in data for part in exact) or any(part in lower for part in written):
            found.add(name)
    return found
