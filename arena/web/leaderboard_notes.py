"""Leaderboard notes: sentences on a board's imported votes and excluded votes."""

from arena.leaderboard.board import Board, ImportSummary
from arena.templates import macros, plural

HTML = macros("leaderboard.html")


def import_notes(board: Board) -> tuple[str, ...]:
    """Return sentences on the origin of a board's imported votes, how they count, and what they leave open."""
    told = board.import_summary
    if told is None:
        return ()
    return (_origin(board, told), *_ties(told), *_gaps(told))


def own_notes(board: Board) -> tuple[str, ...]:
    """Return sentences on which of this arena's votes a board counts, and which it excludes."""
    return (*_live(board), *_flagged(board), *_uncounted(board))


def _live(board: Board) -> tuple[str, ...]:
    if board.key.kind != "live":
        return ()
    out = board.left_out
    what = "on images that visitors brought" if board.key.source else "on items of the bank"
    reasons = [f"{out.stopped:,} on answers that were stopped"] if out.stopped else []
    reasons += [f"{out.named:,} where an answer told which model gave it"] if out.named else []
    outside = (f"{_votes(out.stopped + out.named)} kept outside the ranking: {', '.join(reasons)}.",) if reasons else ()
    return f"Two models answered live, {what}.", *outside


def _flagged(board: Board) -> tuple[str, ...]:
    out = board.left_out
    if not out.voters:
        return ()
    who, cast = plural(out.voters, "flagged voter"), plural(out.flagged, "vote")
    if board.key.unflagged:
        return (f"Without {who} ({cast}): they fail check items or choose as no reader does. Their votes stay stored.",)
    return (f"With {who} ({cast}), whom the board that counts leaves out.",)


def _uncounted(board: Board) -> tuple[str, ...]:
    if not board.left_out.uncounted:
        return ()
    return (f"{_votes(board.left_out.uncounted)} stored and not counted: this arena counts only those of some voters.",)


def _origin(board: Board, told: ImportSummary) -> str:
    if board.key.kind == "imported":
        return "These votes were imported: they were cast elsewhere, not in this arena."
    return HTML.imported(_votes(told.votes, " of these votes"), told.sources)


def _ties(told: ImportSummary) -> tuple[str, ...]:
    """Say how votes without a winner count, and which do not."""
    halves = [plural(told.ties, "tie")] if told.ties else []
    halves += [f"{told.both_bad:,} \u201cboth bad\u201d"] if told.both_bad else []
    counted = (f"{' and '.join(halves)} count half to each side.",) if halves else ()
    left_out = (f"{told.both_bad_out:,} \u201cboth bad\u201d are left out.",) if told.both_bad_out else ()
    return (*counted, *left_out)


def _gaps(told: ImportSummary) -> tuple[str, ...]:
    """Say how many votes were left out, or lack data that the numbers rest on."""
    alone = f"{_votes(told.alone)} on a model against itself and left out." if told.alone else ""
    named = f"{_votes(told.named)} cast with the names in view." if told.named else ""
    lacking = (
        (told.no_item, "which item they are about: each is taken for independent, which may be too narrow"),
        (0 if told.judge else told.no_voter, "who cast them"),
        (told.no_time, "when they were cast: they are on no board of some days, nor in the plot over time"),
        (told.no_images, "how many images were shown: they stand with the single images"),
    )
    return tuple(filter(None, (alone, named, *(_not_told(count, told, what) for count, what in lacking))))


def _not_told(count: int, told: ImportSummary, what: str) -> str:
    """Return a sentence on how many votes lack a piece of data."""
    if not count:
        return ""
    if count == told.votes:
        return f"The imported votes do not say {what}."
    return f"{count:,} of the imported votes do not say {what}."


def _votes(count: int, of: str = "") -> str:
    return f"1{of or ' vote'} was" if count == 1 else f"{count:,}{of or ' votes'} were"
