"""Share sheet: all that one takes along of a report, behind one button at its top."""

from typing import NamedTuple

from arena.templates import macros
from scoring.publish.hub_files import is_open
from scoring.web.share_texts import Shared, badge_markdown, latex, markdown

SHARE = macros("share.html")


class ShareTexts(NamedTuple):
    """Texts to copy."""

    markdown: str
    latex: str
    badge: str


def share_html(at: str, shown: Shared | None, is_owner: bool, is_own: bool) -> str:
    """Return the button with its sheet.

    `at`: path of the report; `shown`: what it says where it is published; `is_own`: it is of a benchmark of its owner's
    own, and stays private.
    """
    if shown is None:
        return SHARE.sheet(at, None, is_owner, is_owner and not is_own, is_own, False, None)
    texts = ShareTexts(markdown(shown), latex(shown), badge_markdown(shown))
    return SHARE.sheet(at, shown, is_owner, False, is_own, not is_open(shown.base), texts)
