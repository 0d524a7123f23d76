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


def share_html(
    at: str, shown: Shared | None, is_owner: bool, is_own: bool, withdrawn: str | None
) -> str:
    """Return the button with its sheet.

    `at`: path of the report; `shown`: what it says where it is published; `is_own`: it is of a benchmark of its owner's
    own, and stays private; `withdrawn`: why the operators made it private, which its owner reads.
    """
    if shown is None:
        can_publish = is_owner and not is_own and withdrawn is None
        reason = withdrawn if is_owner else None
        return SHARE.sheet(at, None, is_owner, can_publish, is_own, False, None, reason)
    texts = ShareTexts(markdown(shown), latex(shown), badge_markdown(shown))
    return SHARE.sheet(at, shown, is_owner, False, is_own, not is_open(shown.base), texts)
