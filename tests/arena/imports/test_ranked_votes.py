"""Votes that count for a ranking: what is left out is counted by its reason, and kept as a row."""

import json

import pytest

from arena.formats.base import Battles, Vote, columns_of
from arena.formats.registry import FORMATS, read, write
from arena.imports.ranked_votes import (
    MOST_RATED,
    AliasError,
    ManyModelsError,
    aliases_of,
    rankable_battles,
)
from tests.support.vote_samples import (
    CLEAN,
    COMPARIA,
    COMPARIA_TURNS,
    KAGGLE_ARENA,
    LOG,
    OPEN_WEBUI,
    OPEN_WEBUI_MESSAGES,
    PREFERENCE_140K,
    SEARCH_ARENA,
    VISIT,
    WILDVISION,
    log_line,
    put,
    state,
    text_part,
)

REVEALING = "I am Vicuna, a language model trained by LMSYS."
TURNS = [
    {"role": "user", "content": "Who are you?"},
    {"role": "assistant", "content": REVEALING},
]
PARTS = [{"role": "assistant", "content": [text_part(REVEALING)]}]
REPLY = {**OPEN_WEBUI_MESSAGES, "m3": {**OPEN_WEBUI_MESSAGES["m3"], "content": REVEALING}}


def votes_of(*votes: Vote) -> Battles:
    return Battles(None, *columns_of(votes), rows=({},) * len(votes))


def battles_between(*names: tuple[str, str]) -> Battles:
    return votes_of(*(Vote(model_a, model_b, "a") for model_a, model_b in names))


NAMED_ITSELF = {
    "a log": [
        LOG[1],
        log_line("leftvote", ["", ""])
        | {
            "states": [
                state("model x", "Who are you?"),
                {
                    **state("model y", "Who?"),
                    "messages": [["USER", "Who?"], ["ASSISTANT", REVEALING]],
                },
            ]
        },
    ],
    "clean battles": [CLEAN[0], {**CLEAN[0], "conversation_b": TURNS}],
    "the 140k set": [PREFERENCE_140K[0], {**PREFERENCE_140K[0], "conversation_a": PARTS}],
    "WildVision": [WILDVISION[0], {**WILDVISION[0], "conversation_a": TURNS}],
    "Search Arena": [SEARCH_ARENA[0], {**SEARCH_ARENA[0], "messages_b": TURNS}],
    "Kaggle": [KAGGLE_ARENA[0], {**KAGGLE_ARENA[0], "response_b": json.dumps([REVEALING])}],
    "comparIA's votes": [COMPARIA[0], {**COMPARIA[0], "conversation_b": TURNS}],
    "comparIA's turns": [COMPARIA_TURNS[0], {**COMPARIA_TURNS[0], "full_conversation_a": TURNS}],
    "VisIT-Bench": [VISIT[0], {**VISIT[0], "B": REVEALING}],
    "Open WebUI": [
        OPEN_WEBUI[0],
        {
            **OPEN_WEBUI[0],
            "snapshot": {"chat": {"chat": {"history": {"messages": REPLY}}}},
        },
    ],
}


@pytest.mark.parametrize("layout", NAMED_ITSELF)
def test_a_vote_on_an_answer_that_names_its_model_is_left_out_and_counted(tmp_path, layout):
    battles = read(put(tmp_path / "votes.jsonl", NAMED_ITSELF[layout]))
    assert len(battles) == 2
    counted = rankable_battles(battles)
    assert counted.rows == battles.rows[:1] and counted.others[-1].row == battles.rows[1]
    assert counted.notices == ("1 vote on an answer that names its model left out",)


def test_an_answer_may_name_models_and_judges_may_read_names(tmp_path):
    topic = [{"role": "assistant", "content": "The llama is an animal, and LLaMA a model by Meta."}]
    asked = [{"role": "user", "content": REVEALING}, {"role": "assistant", "content": "Hello!"}]
    later = [*COMPARIA_TURNS[0]["full_conversation_a"], *TURNS]
    path = put(
        tmp_path / "votes.jsonl",
        [{**CLEAN[0], "conversation_a": topic}, {**CLEAN[0], "conversation_b": asked}],
    )
    assert rankable_battles(read(path)).notices == ()
    after = put(tmp_path / "turns.jsonl", [{**COMPARIA_TURNS[0], "full_conversation_a": later}])
    assert rankable_battles(read(after)).notices == (), "it named itself when the vote was cast"
    battles = read(put(tmp_path / "visit.csv", [{**VISIT[0], "A": REVEALING}]))
    judged = Battles(
        battles.format,
        *columns_of(vote._replace(judge=True) for vote in battles.votes()),
        rows=battles.rows,
    )
    assert len(rankable_battles(judged)) == 1


def test_a_name_of_the_file_s_own_models_counts_unless_it_is_a_word(tmp_path):
    reply = [{"role": "assistant", "content": "I am quxolotl-7b and here to help."}]
    words = [{"role": "assistant", "content": "I am the best helper."}]
    names = {"model_a": "quxolotl-7b", "model_b": "best"}
    path = put(
        tmp_path / "votes.jsonl",
        [
            {**CLEAN[0], **names, "conversation_a": reply},
            {**CLEAN[0], **names, "conversation_a": words},
        ],
    )
    assert len(rankable_battles(read(path))) == 1


def test_an_answer_that_is_a_number_names_no_model_that_is_called_so(tmp_path):
    reply = [{"role": "assistant", "content": "7."}]
    battle = {**CLEAN[0], "model_a": "7", "model_b": "quxolotl-7b", "conversation_a": reply}
    path = put(tmp_path / "votes.jsonl", [battle])
    assert len(rankable_battles(read(path))) == 1


def test_names_in_view_are_left_out_until_they_are_asked_for(tmp_path):
    battles = read(put(tmp_path / "conv.json", LOG, lines=True))
    counted = rankable_battles(battles)
    assert (
        counted.notices[-1]
        == "3 votes with model names visible left out. To include them, add --named"
    )
    assert set(counted.blind) == {True} and len(counted) == 3
    assert [line.row for line in counted.lines()] == LOG, "each row stays in its place"
    assert list(rankable_battles(battles, with_names=True).votes()) == list(battles.votes())
    shown = put(tmp_path / "shown.json", [{**CLEAN[0], "anony": False, "conversation_a": TURNS}])
    assert len(rankable_battles(read(shown), with_names=True)) == 1, (
        "who saw the names learns nothing new"
    )
    thumbs = [{**OPEN_WEBUI[0], "meta": {"arena": False}}, {**OPEN_WEBUI[0], "meta": {}}]
    assert len(rankable_battles(read(put(tmp_path / "feedback.json", thumbs)))) == 0


@pytest.mark.parametrize(
    ("tag", "counts"),
    [
        ({"high_freq": True, "sampled": False}, 0),
        ('{"high_freq": true, "sampled": false}', 0),
        ({"high_freq": True, "sampled": True}, 1),
        ({}, 1),
        (None, 1),
        ("no JSON {", 1),
    ],
)
@pytest.mark.parametrize("row", [CLEAN[0], WILDVISION[0]], ids=["clean-battles", "wildvision"])
def test_a_duplicate_that_its_publisher_marks_is_left_out(tmp_path, row, tag, counts):
    counted = rankable_battles(read(put(tmp_path / "votes.jsonl", [{**row, "dedup_tag": tag}])))
    assert len(counted) == counts
    assert counted.notices == (("1 vote marked as duplicate by the file left out",) * (1 - counts))


def test_what_is_left_out_is_so_after_our_own_export_too(tmp_path):
    rows = [CLEAN[0], {**CLEAN[0], "dedup_tag": {"sampled": False}}]
    rows += [{**CLEAN[0], "conversation_a": TURNS}, {**CLEAN[0], "anony": False}]
    battles = read(put(tmp_path / "votes.json", rows))
    write(battles, tmp_path / "ours.jsonl")
    counted = rankable_battles(read(tmp_path / "ours.jsonl"))
    assert len(counted) == 1
    assert counted.notices == rankable_battles(battles).notices and len(counted.notices) == 3
    write(counted, tmp_path / "again.json", "clean-battles")
    assert read(tmp_path / "again.json").rows == battles.rows


SELF = {
    "three-columns": {"model_a": "x", "model_b": "x", "winner": "model_a"},
    "comparia": {**COMPARIA[0], "model_b_name": "model x"},
    "evalica": {"left": "x", "right": "x", "winner": "left"},
    "kaggle-arena": {**KAGGLE_ARENA[0], "model_b": "model x"},
    "comparia-turns": {**COMPARIA_TURNS[0], "model_b": "model x"},
    "stereoscope": {**Vote("x", "x", "a")._asdict(), "origin": None, "origin_row": None},
}


@pytest.mark.parametrize("name", SELF)
def test_a_model_against_itself_is_left_out_in_every_format(tmp_path, name):
    battles = read(put(tmp_path / "votes.jsonl", [SELF[name]] * 2))
    assert (battles.format, len(battles)) == (name, 2)
    counted = rankable_battles(battles)
    assert (len(counted), counted.notices) == (
        0,
        ("2 votes comparing a model with itself left out",),
    )
    assert name in {form.name for form in FORMATS}


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["GPT-4o", "gpt-4o"], True),
        (["gpt-4o", "gpt\u20114o", "gpt_4o", "gpt 4o", "GPT4o"], True),
        (["qwen\u00a0vl", "qwen\u200bvl"], True),
        (["qwen vl", "qwen\tvl", "qwen vl\n"], True),
        (["gpt-4o", "gpt-4.1", "gpt-4o-mini"], False),
    ],
)
def test_names_that_differ_in_spelling_alone_are_named(names, alike):
    battles = battles_between(*((name, "other") for name in names))
    counted = rankable_battles(battles)
    assert len(counted.notices) == alike and counted.model_a == battles.model_a
    for notice in counted.notices:
        assert notice.startswith("Names that differ only in case, dashes or blanks: ")
        assert all(repr(name) in notice for name in names)


def test_many_such_names_make_few_notices():
    battles = battles_between(*((f"model {n}", f"model-{n}") for n in range(30)))
    notices = rankable_battles(battles).notices
    assert len(notices) == 6 and notices[-1] == "The names of 25 more models differ only like this."


def test_aliases_merge_models_and_what_they_make_a_model_against_itself(tmp_path):
    battles = battles_between(("GPT-4o", "x"), ("gpt-4o", "x"), ("gpt-4o", "GPT-4o"))
    counted = rankable_battles(battles, aliases=aliases_of(["gpt-4o=GPT-4o"]))
    assert set(counted.model_a) == {"GPT-4o"} and len(counted) == 2
    assert counted.notices == ("1 vote comparing a model with itself left out",)
    for text, problem in (
        ("gpt4o=GPT-4o", "names 'gpt4o', which has no votes"),
        ("gpt-4o", "Write OLD=NEW"),
        ("=x", "Write OLD=NEW"),
        ("gpt-4o= ", "Write OLD=NEW"),
        ("x=x", "turns 'x' back into itself"),
    ):
        with pytest.raises(AliasError, match=problem):
            rankable_battles(battles, aliases=aliases_of([text]))


def test_aliases_are_followed_and_may_not_contradict_each_other():
    assert aliases_of(["a=b", "c=d", "b=c", "a=b"]) == {"a": "d", "b": "d", "c": "d"}
    for texts, problem in (
        (["a=b", "b=a"], "back into itself. Leave"),
        (["z=a", "a=b", "b=c", "c=a"], "back into itself. Leave"),
        (["a=b", "a=c"], "gives 'a' two names, 'b' and 'c'"),
    ):
        with pytest.raises(AliasError, match=problem):
            aliases_of(texts)


def test_an_answer_names_its_model_also_by_a_name_that_an_alias_replaces(tmp_path):
    reply = [{"role": "assistant", "content": "I am quxolotl-7b and here to help."}]
    row = {**CLEAN[0], "model_a": "quxolotl-7b", "conversation_a": reply}
    battles = read(put(tmp_path / "votes.jsonl", [CLEAN[0], row]))
    assert len(rankable_battles(battles, aliases={"quxolotl-7b": "new-7b"})) == 1


def test_cells_that_pandas_wrote_as_python_are_read(tmp_path):
    duplicate = {**CLEAN[0], "dedup_tag": str({"high_freq": True, "sampled": False})}
    revealing = {**CLEAN[0], "dedup_tag": "{'sampled': True}", "conversation_a": str(TURNS)}
    counted = rankable_battles(read(put(tmp_path / "votes.csv", [duplicate, revealing])))
    assert counted.notices[-2:] == (
        "1 vote marked as duplicate by the file left out",
        "1 vote on an answer that names its model left out",
    )


def test_more_models_than_ratings_have_room_for_are_refused():
    """As where the column of models holds the votes' ids."""
    pairs = [(f"a{number}", f"b{number}") for number in range(MOST_RATED // 2)]
    assert len(rankable_battles(battles_between(*pairs))) == len(pairs)
    with pytest.raises(ManyModelsError, match="The votes have 1,001 models, and at most 1,000"):
        rankable_battles(battles_between(*pairs, ("a0", "one more")))
