"""Words: every string that the Vote page shows, in one place, by language.

Errors and other sentences from below this layer come in English; a language has them by that sentence.
"""

from collections.abc import Mapping

from arena.errors import VoterError
from arena.web.chinese import CHINESE

Words = Mapping[str, str]

ENGLISH: Words = {
    "gap": " ",  # between two sentences
    # Before the choice
    "title": "Stereoscope: two hidden models, one picture, your choice",
    "lead": "Two hidden models looked at this picture. Which one helped more?",
    "instruction": "Instruction",
    "guidelines": "Judge by accuracy, helpfulness and detail. No ties: choose the better one even if it is close.",
    "link": "Link to this item",
    "picture": "Picture",
    "picture_of": "Picture {} of {}",
    "enlarge": "Enlarge picture",
    "broken": "The picture does not load",
    "broken_skip": "Take another battle",
    "broken_costs": "It does not count as one of your skips.",
    "answer": "Answer",
    "wait_pictures": "You can choose as soon as every picture is here.",
    "wait_answers": "Look at both answers, then choose.",
    "not_stored": "Not stored yet: the server cannot be reached. Your choice is sent as soon as it can be; keep this "
    "page open.",
    "terms": "Your choice is stored and published under CC BY 4.0, without your name.",
    "terms_undo": "You can take it back once, within {} seconds.",
    "terms_link": "What is stored and published",
    "votes": "Your votes: {}",
    "demo": "demo bank",
    # Controls
    "choose_a": "A is better",
    "choose_b": "B is better",
    "undo": "Undo",
    "reveal": "Show the names",
    "next": "Next",
    "skip": "Skip",
    "skip_judge": "I cannot judge this",
    "skip_broken": "The picture does not load",
    "skip_rude": "It is offensive",
    "plain": "Plain text",
    "keys_on": "Keys",
    "keys_a_b": "choose",
    "keys_n": "next",
    "keys_s": "skip",
    "keys_z": "undo",
    "keys_i": "enlarge",
    "enlarged": "Enlarged picture",
    "previous": "Previous picture",
    "following": "Next picture",
    "close": "Close (Esc)",
    # Where a battle stands
    "chose": "You chose {}.",
    "undo_once": "Undo within {} seconds; then the names appear and it is final.",
    "taken_back": "Taken back. Choose again: the second choice is final.",
    "your_choice": "your choice",
    # The reveal
    "you_chose": "You chose {}: {}.",
    "other_is": "{} is {}.",
    "rank": "rank {} of {}",
    "places": "places {} to {}",
    "level": "95% intervals",
    "provisional": "still gathering votes",
    "first": "You are the first to choose here.",
    "others_later": "How others chose here is told when the campaign has ended.",
    "alike": "{} of {} people chose as you.",
    "alike_few": "{} of {} others chose as you.",
    "alike_one": "The one other person here chose as you.",
    "unlike_one": "The one other person here chose differently.",
    "cost_one": "about {} for this answer",
    "cost_many": "about {} for its {} answers",
    "reference": "The reference's answer",
    "battle_link": "Link to this battle",
    "mine": "The models you preferred so far",
    "mine_row": "{} of {}",
    # No battle
    "one_step": "One step more",
    "new_tab": "Open in a new tab",
    "enough": "Enough for now",
    "nothing": "Nothing to compare",
    "nothing_yet": "Nothing to vote on yet.",
    # Picking an item
    "pick": "Pick an item",
    "family": "Family",
    "any_family": "Any family",
    "search": "Search the instructions",
    "one_picture": "1 picture",
    "pictures": "{} pictures",
    "none_fits": "No item fits. Try another family or fewer words.",
    "more": "{} more: search to narrow them down.",
    # The pages, and the copy of the votes
    "pages": "Pages",
    "skip_link": "Skip to the content",
    "scriptless": "Voting needs scripts, and this browser runs none. Allow them for this page, then load it again.",
    "door_vote": "Vote",
    "door_own": "Your own picture",
    "door_results": "Results",
    "door_score": "Score a model",
    "run": "Run",
    "login": "Log in with Hugging Face",
    "logout": "Log out",
    "login_failed": "Log in",
    "back": "Back",
    "counts_later": "Your votes stand on everyone's board, and on the counted one once you log in.",
    "counts_framed": "Your votes stand on everyone's board; for the counted board too, log in: that opens a page of "
    "its own.",
    "counts_invited": "Your votes stand on everyone's board; the counted board has those of invited people.",
    "you": "What is kept of you",
    "you_code": """This browser is known here by a code:

`{}`

To have your data deleted, send this code to the operators of this arena. They delete your images and words and \
whatever tells who you are; your votes stay, without a person. Whoever has the code can ask for that: show it to \
nobody else.

Your reports stay under their links, without an owner; published ones become private. If you don't want that, \
delete them first, under *Score a model*. On devices that you joined by a code, \
this covers the reports and uploaded files of all of them, but only the votes of this one.""",
    "you_none": "This browser has no code, and nothing is kept of you. Open the arena first if you have voted in it.",
    "reports_link": "Published reports",
    "reports_elsewhere": "Your reports on another device",
    "reports_code": "A code opens your scored reports in another browser. It works once, within 10 minutes. Whoever "
    "enters it can read, change and delete your reports.",
    "reports_show": "Show code",
    "reports_enter": "Code from your other device",
    "reports_open": "Open reports",
    "reports_code_use": "Enter this code on your other device, under What is kept of you. It works once, within 10 "
    "minutes. Show it to nobody else.",
    "reports_code_wrong": "This code doesn't work. It was used, is older than 10 minutes, or has a typo. Show a new "
    "code on the other device.",
    "copy_code": "Copy",
    "copied_now": "Copied",
    "saved": "Saved; {}.",
    "saved_late": "Saved; the copy is late: {}.",
    "copied": "votes until {} ago are copied",
    "copied_only": "only votes until {} ago are copied",
    "copied_none": "nothing is copied yet",
    "s": "{} s",
    "min": "{} min",
    "h": "{} h",
    "days": "{} days",
    # Live battles
    "live_lead": "Two unnamed models answer side by side. You choose; then you learn who they are.",
    "live_send": "Compare two models",
    "live_wait": "Compare when ready",
    "live_waits": "Your question is sent as soon as the models are ready. Keep this page open.",
    "live_waits_not": "Cancel",
    "live_keep": "My pictures may be kept for research. Without this tick they are deleted when the names are shown, "
    "at the latest after 24 hours.",
    "live_terms": "By voting you agree that your choice is stored and published under CC BY 4.0, without your name.",
    "offer_unset": "No models are set up. Start with {} (two small models, a 1.5 GB download) or {} (your "
    "Hugging Face credits), or list your own in a models file (docs/vote.md).",
    "offer_none": "No models answer here yet. The operator of this site can add some.",
    "offer_one": "One model is ready, and a battle needs two. The operator of this site can add another.",
    "offer_getting": "Getting the models ready.",
    "offer_loading": "Getting the models: {:,.0f} of {:,.0f} MB.",
    "offer_progress": "Download",
    "offer_minutes": "About {} minutes left.",
    "offer_minute": "About a minute left.",
    "offer_waits": "Your picture can wait here.",
    "offer_offline": "The models couldn't be downloaded: no connection to {}.",
    "offer_off": "The models aren't here, and downloads are switched off (HF_HUB_OFFLINE).",
    "offer_room": "There isn't enough disk space for the models.",
    "offer_failed": "The models couldn't be loaded.",
    "offer_why": "Details for the operator",
    "offer_login": "Compare models with your own Hugging Face credits.",
    "offer_credits": "Use my Hugging Face credits",
    "offer_cost": "Each battle costs you about ${}.",
    "offer_costs": "Each battle costs you about ${} to ${}.",
    "offer_own_login": "These models answer at your own cost at Hugging Face. Run {} on this machine, then try again.",
    "offer_unserved": "Fewer than two of these models can be asked at Hugging Face right now. Try again later.",
    "offer_unreached": "There is no connection to {}, which lists the models that can be asked. Try again later.",
    "billing": "Hugging Face billing",
    "live_more": "Ask both once more",
    "add": "Choose pictures",
    "photo": "Take a photo",
    "take_item": "Take an item of the bank",
    "take_another": "Take another item",
    "drop": "or drop or paste them here; up to {}",
    "enter": "Enter sends, Shift+Enter begins a new line.",
    "stop": "Stop",
    "again": "Try again",
    "new": "New battle",
    "ask": "Ask",
    "yours": "Your instruction",
    "your_picture": ", yours",
    "take_out": "Take out",
    "checking": "checking …",
    "still": "An animation: its first picture is used.",
    "most": "At most {} pictures; {} left out.",
    "the_picture": "The picture",
    "no_answer": "The server does not answer. Check your connection and try again.",
    "asked_again": "The server does not answer; it is asked again by itself.",
    "slow": "No answer has come yet. Wait, or send it once more: nothing counts twice.",
    "refused": "The server refused ({}). Try again.",
    "lost": "The connection was lost. Trying again …",
    "stopped_both": "(stopped before both answers had ended)",
    "cut_off": "(cut off at the length limit)",
    "thought": "Thought for {} words",
    "thought_one": "Thought for 1 word",
    "answering": "Both models are answering.",
    "loading": "A model is loading. Both answers start when it's ready.",
    "in_line_one": "Waiting in line: 1 visitor ahead of you.",
    "in_line": "Waiting in line: {} visitors ahead of you.",
    "choose_now": "You can choose now, or wait for the rest.",
    "which": "Which answer is better? Choose.",
    "which_more": "Which answer is better? Choose, or ask both once more ({} left).",
    "which_stopped": "Stopped. Choose by what is shown; such a vote is kept outside the ranking.",
    "was_taken_back": "Taken back.",
    "outside_stopped": "The answers were stopped, so it is kept outside the ranking.",
    "outside_named": "An answer tells which model gave it, so it is kept outside the ranking.",
    "undo_live": "Undo within {} seconds; then the names appear.",
}

SCRIPTS = (
    *("enlarged", "previous", "following", "close", "picture_of"),
    *(
        "no_answer",
        "asked_again",
        "not_stored",
        "slow",
        "refused",
        "lost",
        "most",
        "checking",
        "still",
    ),
    *("the_picture", "picture", "take_out", "take_item", "take_another"),
    *("live_send", "live_wait", "live_waits_not"),
    "copied_now",
)
"""Words that scripts put into pages."""
LANGUAGES: Mapping[str, Words] = {"en": ENGLISH, "zh": CHINESE}
NAMES = (("en", "English"), ("zh", "中文"))
"""The languages as their speakers call them."""


def said(told: Exception | str, words: Words) -> str:
    """Return an error, or a sentence from below this layer, in a language."""
    if isinstance(told, VoterError) and told.values:
        values = (
            words.get(value, value) if isinstance(value, str) else value for value in told.values
        )
        return words.get(told.sentence, told.sentence).format(*values)
    return words.get(str(told), str(told))


def language_of(headers: Mapping[str, str]) -> str:
    """Return the language of a request: that of the page's switch, else the first that its browser asks for."""
    chosen = [
        pair.strip().removeprefix("language=")
        for pair in headers.get("cookie", "")[:8000].split(";")
    ]
    asked = [
        part.partition(";")[0].strip()[:2].lower()
        for part in headers.get("accept-language", "")[:200].split(",")
    ]
    return next((name for name in (*chosen, *asked) if name in LANGUAGES), "en")


def words_of(headers: Mapping[str, str]) -> Words:
    return LANGUAGES[language_of(headers)]


def script_words(words: Words) -> Words:
    """Return what the scripts of a page say."""
    return {name: words[name] for name in SCRIPTS}
