"""Projects as operators make them, and where their drafts go: the private backup, no public export, nobody's name."""

import pytest
from sqlalchemy import select

from arena.admin.erasure import Erasure
from arena.admin.public_export import write_export
from arena.authoring.spec import LICENCES, ProjectSpec
from arena.authoring.store import DraftStore
from arena.database import METADATA
from arena.live.images import OwnImages
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import Seat, SeatStore
from arena.seats.spec import CampaignError, CampaignSpec, read_spec
from arena.seats.tables import SEAT_TRY
from tests.support.backup import FolderHub, backup_of, copy_all, rows
from tests.support.writers import Project, photo

TOML = b"""
name = "pets"
seat = { votes = 20, pay = 6 }
licence = "CC BY-SA 4.0"
visibility = "sealed"
verifiers = 3

[[families]]
name = "animals"
hint = "Ask about what they do."
instruction = "What does the dog guard?"
answer = "The sheep."
pictures = ["dog.jpg"]
"""


def test_a_project_is_made_of_a_toml_file_and_its_examples_pictures_are_kept(database, tmp_path):
    (tmp_path / "dog.jpg").write_bytes(photo(3))
    one = Project.on(database, tmp_path, name="other")
    made = one.projects.make(TOML, lambda name: (tmp_path / name).read_bytes())
    (family,) = made.spec.families
    assert (family.wanted, made.spec.seat.minutes, made.spec.visibility) == (10, 30, "sealed")
    assert one.writing.pictures.path(family.pictures[0])
    assert one.projects.campaigns.get("pets") == made


@pytest.mark.parametrize(
    "old, new, told",
    [
        (b"dog.jpg", b"cat.jpg", "families.pictures names 'cat.jpg'"),
        (b"dog.jpg", b"page.html", "names 'page.html': This file is a web page"),
        (b"dog.jpg", b"a\\u0000b", "families.pictures names 'a\\x00b'"),
        (b'name = "animals"', b'name = "a\\u0000b"', "'a\\x00b'. It must be the name of a family"),
        (b"verifiers = 3", b"verifiers = 2", "verifiers is '2'. It must be 1 or 3"),
        (b"sealed", b"secret", "visibility is 'secret'"),
        (b"CC BY-SA 4.0", b"mine", "licence is 'mine'"),
        (b'name = "animals"', b'name = " "', "the name of a family"),
        (
            b"[[families]]",
            b'[[families]]\nname = "animals"\n[[families]]',
            "Two families are named 'animals'",
        ),
        (b"hint", b"tip", "'tip' isn't a known key"),
    ],
)
def test_a_project_that_cannot_be_is_told_in_a_sentence(database, tmp_path, old, new, told):
    (tmp_path / "dog.jpg").write_bytes(photo(3))
    (tmp_path / "page.html").write_bytes(b"<html></html>")
    one = Project.on(database, tmp_path, name="other")
    with pytest.raises(CampaignError) as caught:
        one.projects.make(TOML.replace(old, new, 1), lambda name: (tmp_path / name).read_bytes())
    assert told in str(caught.value) and one.projects.campaigns.find("pets") is None


SAMPLES = (
    TOML
    + b"""
[qualify]
samples = 1
pass = 1
[[samples]]
picture = "dog.jpg"
instruction = "What does the dog guard?"
known = ["sheep|flock", "green meadow"]
least = 10
"""
)


def test_a_sample_tasks_picture_is_kept(database, tmp_path):
    (tmp_path / "dog.jpg").write_bytes(photo(3))
    one = Project.on(database, tmp_path, name="other")
    made = one.projects.make(SAMPLES, lambda name: (tmp_path / name).read_bytes())
    (sample,) = made.spec.samples
    assert (sample.known, sample.least) == (("sheep|flock", "green meadow"), 10)
    assert one.writing.pictures.path(sample.picture)
    assert one.projects.campaigns.get("pets") == made


@pytest.mark.parametrize(
    "old, new, told",
    [
        (
            b"samples = 1\n",
            b"samples = 2\n",
            "qualify.samples is 2, but the file has 1 [[samples]]",
        ),
        (b"pass = 1", b"pass = 2", "qualify.pass is 2, but only 1 questions are asked"),
        (b"samples = 1\n", b"", "nobody is asked any. Set qualify.samples."),
        (b"[qualify]\nsamples = 1\npass = 1\n", b"", "nobody is asked any. Set qualify.samples."),
        (b'picture = "dog.jpg"', b'picture = "cat.jpg"', "samples.picture names 'cat.jpg'"),
        (b'picture = "dog.jpg"', b'picture = "a\\u0000b"', "the name of a picture's file"),
        (b'picture = "dog.jpg"', b"", "picture is missing"),
        (b'"sheep|flock"', b'"sheep|"', "'sheep|'. It must be words or a short phrase"),
        (b'"sheep|flock"', b'"' + b"x" * 201 + b'"', "It must be words or a short phrase"),
        (b'"sheep|flock"', b"3", "It must be words or a short phrase"),
        (b"least = 10", b"least = 0", "least is '0'. It must be a whole number from 1 to 500"),
        (b"least = 10", b"most = 10", "'most' isn't a known key"),
        (b'instruction = "What does the dog guard?"\nknown', b"known", "instruction is missing"),
    ],
)
def test_sample_tasks_that_cannot_be_are_told_in_a_sentence(database, tmp_path, old, new, told):
    (tmp_path / "dog.jpg").write_bytes(photo(3))
    one = Project.on(database, tmp_path, name="other")
    assert old in SAMPLES
    head, _, tail = SAMPLES.rpartition(old)
    with pytest.raises(CampaignError) as caught:
        one.projects.make(head + new + tail, lambda name: (tmp_path / name).read_bytes())
    assert told in str(caught.value)
    assert one.projects.campaigns.find("pets") is None


def test_a_qualification_that_asks_nothing_and_samples_of_battles_are_told():
    values = {"name": "pets", "seat": {"votes": 1, "pay": 0}}
    families = [{"name": "animals"}]
    with pytest.raises(CampaignError, match="qualify has no questions. Set qualify.items to"):
        read_spec(ProjectSpec, {**values, "families": families, "qualify": {"pass": 1}})
    with pytest.raises(
        CampaignError, match=r"qualify.samples is 1, but the file has 0 \[\[samples"
    ):
        read_spec(CampaignSpec, {**values, "qualify": {"samples": 1, "pass": 1}})
    many = [{"picture": "a.jpg", "instruction": "What?"}] * 21
    with pytest.raises(CampaignError, match="samples"):
        read_spec(ProjectSpec, {**values, "families": families, "samples": many})


SECRET = "A caption that nobody else may read, of a dog on the grass."


def sampled(database, folder) -> tuple[Project, Seat]:
    """A project whose first writer has described a sample task, which nobody has read yet."""
    folder.mkdir(exist_ok=True)
    (folder / "0.jpg").write_bytes(photo(1))
    sample = {"picture": "0.jpg", "instruction": "What is it?"}
    qualify = {"samples": 1, "pass": 1}
    project = Project.on(database, folder, samples=[sample], qualify=qualify)
    seat = project.seat("ann")
    exam = Qualification(database)
    stands = exam.standing(seat)
    assert stands
    exam.answer(seat, stands, "sample 1", SECRET, None)
    return project, seat


@pytest.mark.parametrize("onto", ["sqlite", "postgresql"])
def test_after_a_wipe_a_sample_waits_on_with_its_picture(database, another, tmp_path, onto):
    project, _ = sampled(database, tmp_path / "old")
    hub = FolderHub()
    copy_all(backup_of(database, hub, tmp_path / "old"))
    fresh = another(onto)
    backup_of(fresh, hub, tmp_path / "new").restore()
    campaign = project.campaign
    (answer,) = Qualification(fresh).unread(campaign, SeatStore(fresh).all(campaign))
    assert answer.answer == SECRET
    picture = campaign.spec.samples[0].picture
    assert (tmp_path / "new" / "pictures" / picture).is_file()
    assert (tmp_path / "new" / "pictures" / f"{picture[:64]}.thumb.jpg").is_file()


@pytest.mark.locks_or_dialect
def test_captions_of_samples_go_with_who_is_forgotten_and_are_in_no_public_file(database, tmp_path):
    project, seat = sampled(database, tmp_path / "here")
    bob = project.seat("bob")
    exam = Qualification(database)
    exam.answer(bob, ExamStanding(1, 1, 0, 1), "sample 1", "Another caption.", None)
    write_export(database, tmp_path / "public")
    for path in (tmp_path / "public").iterdir():
        assert SECRET.encode() not in path.read_bytes(), path.name
    Erasure(database, OwnImages(database, tmp_path / "own")).forget(seat.voter, "ada")
    with database.read() as connection:
        assert connection.scalars(select(SEAT_TRY.c.answer)).all() == ["Another caption."]
    unread = exam.unread(project.campaign, project.seats.all(project.campaign))
    assert [one.seat for one in unread] == [bob.id]


def test_a_project_without_families_is_none():
    with pytest.raises(CampaignError, match="families is missing"):
        read_spec(ProjectSpec, {"name": "pets", "seat": {"votes": 1, "pay": 0}})
    assert "CC BY-ND" in LICENCES


@pytest.mark.parametrize("onto", ["sqlite", "postgresql"])
def test_after_a_wipe_drafts_go_on_with_their_pictures_sealed_texts_too(
    database, another, tmp_path, onto
):
    project = Project.on(database, tmp_path / "old", visibility="sealed")
    for person in ("ann", "bob"):
        project.do(project.seat(person))
    project.store.draw(project.seat("cem"))
    hub = FolderHub()
    copy_all(backup_of(database, hub, tmp_path / "old"))
    fresh = another(onto)
    backup_of(fresh, hub, tmp_path / "new").restore()
    assert rows(fresh)["draft_picture"] == rows(database)["draft_picture"]
    restored = DraftStore(fresh).drafts(project.campaign)
    assert restored[0].state == project.drafts[0].state and restored[0].state.step == "answer"
    picture = restored[0].state.instruction.pictures[0]
    assert (tmp_path / "new" / "pictures" / picture.name).is_file()
    assert len(restored[0].acted_voters) == 2, "who acted does not act again"


def test_who_is_forgotten_stays_nobody_in_the_log(database, tmp_path):
    project = Project.on(database, tmp_path)
    ann, bob = project.seat("ann"), project.seat("bob")
    project.do(ann)
    project.store.draw(bob)
    erasure = Erasure(database, OwnImages(database, tmp_path / "own"))
    erasure.forget(ann.voter, "ada")
    erasure.forget(bob.voter, "ada")
    (draft,) = project.drafts
    assert (
        ann.voter not in draft.acted_voters
        and len(draft.acted_voters) == 1
        and draft.state.step == "caption"
    )
    assert project.store.draw(project.seat("cem")).draft == draft.id, (
        "the claim went with its holder"
    )


def test_no_public_file_has_a_word_of_a_draft(database, tmp_path):
    project = Project.on(database, tmp_path)
    for person in ("ann", "bob", "cem", "dot"):
        project.do(project.seat(person))
    write_export(database, tmp_path / "public")
    state = project.drafts[0].state
    for path in (tmp_path / "public").iterdir():
        content = path.read_bytes()
        for text in (state.instruction.text, state.captions[0], state.answer.text):
            assert text.encode() not in content, path.name
    assert {"draft", "draft_event", "draft_claim", "draft_picture"} <= METADATA.tables.keys()
