"""Share sheet: the texts and files of a report to share, behind one button at its top."""

from typing import NamedTuple

from arena.templates import macros
from scoring.publish.hub_files import is_open
from scoring.web.share_texts import ShareRecord, badge_markdown, latex, markdown

SHARE = macros("share.html")


class ShareTexts(NamedTuple):
    """Texts to copy."""

    markdown: str
    latex: str
    badge: str


def share_html(
    at: str, record: ShareRecord | None, is_owner: bool, is_own: bool, withdrawn: str | None
) -> str:
    """Returns the button with its sheet.

    `at`: path of the report; `record`: None for a private report; `is_own`: whether its benchmark is its owner's own,
    which keeps it private; `withdrawn`: why the operators made it private, for its owner to read.
    """
    if record is None:
        can_publish = is_owner and not is_own and withdrawn is None
        reason = withdrawn if is_owner else None
        return SHARE.sheet(at, None, is_owner, can_publish, is_own, False, None, reason)
    texts = ShareTexts(markdown(record), latex(record), badge_markdown(record))
    return SHARE.sheet(at, record, is_owner, False, is_own, not is_open(record.base), texts)
