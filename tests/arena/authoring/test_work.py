"""What people write: refused with a sentence, or kept; what they are warned of; what a camera noted stays out."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Event
from types import SimpleNamespace

import pytest
from PIL import Image

from arena.authoring.checks import (
    DraftError,
    check_caption,
    names_answer,
    similar_pictures,
    similar_texts,
    tokens,
)
from arena.authoring.events import Credit
from arena.authoring.store import MOST_BROUGHT
from arena.authoring.work import MOST_DECODES, OfferedPicture, credit_of
from arena.io.fetch import Fetcher
from arena.io.images import Picture, difference_hash, read_picture
from arena.storage import VOTES_ROOM
from tests.support.disks import files_end_at
from tests.support.writers import CAPTION, FREE, Project, photo


@pytest.fixture
def project(database, tmp_path) -> Project:
    return Project.on(database, tmp_path, licence="CC BY 4.0")


@pytest.fixture
def ann(project):
    """A seat, and its claim of a new instruction."""
    seat = project.seat("ann")
    return seat, project.writing.next(seat).claim.token


def test_a_pictures_place_does_not_come_with_it(project, ann):
    seat, token = ann
    data = photo(1, gps=True)
    assert b"Exif" in data
    kept = project.writing.upload_picture(seat, token, data)
    path = project.writing.pictures.path(f"{kept.sha256}.{kept.suffix}")
    assert b"Exif" not in path.read_bytes()
    with Image.open(path) as image:
        assert not image.getexif()


@pytest.mark.parametrize(
    "credit, told",
    [
        (Credit(source=FREE.source, creator="Ada"), "Picture 1 has no licence"),
        (
            Credit(source=FREE.source, creator="Ada", licence="CC BY-NC"),
            "Picture 1 is under CC BY-NC",
        ),
        (
            Credit(source=FREE.source, creator="Ada", licence="CC BY-ND"),
            "Picture 1 is under CC BY-ND",
        ),
        (Credit(creator="Ada", licence="CC BY"), "Picture 1 has no link to its source"),
        (
            Credit(source="javascript:alert(1)", creator="Ada", licence="CC BY"),
            "Picture 1 has no link",
        ),
        (Credit(source=FREE.source, licence="CC BY-SA"), "Picture 1 has no creator"),
        (
            Credit(source=FREE.source, creator="\u200b \u3164", licence="CC BY"),
            "Picture 1 has no creator",
        ),
        (
            Credit(source=FREE.source, creator="A" * 501, licence="CC BY"),
            "too long. Use at most 500 characters",
        ),
    ],
)
def test_a_picture_whose_rights_are_not_told_is_refused_and_nothing_is_lost(
    project, ann, credit, told
):
    seat, token = ann
    offered = project.offer(seat, token, 1, credit)
    with pytest.raises(DraftError, match=told):
        project.writing.check_instruction(seat, token, "What is it?", [offered])
    assert project.writing.next(seat).claim.token == token
    assert [one.sha256 for one in project.writing.brought_pictures(seat, token)] == [offered.sha256]


@pytest.mark.parametrize("licence", ["own", "CC0", "PD"])
def test_who_needs_no_creator_is_not_asked_for_one(project, ann, licence):
    seat, token = ann
    credit = Credit(source="" if licence == "own" else FREE.source, licence=licence)
    offered = project.offer(seat, token, 1, credit)
    assert (
        project.writing.check_instruction(seat, token, "What is it?", [offered]).pictures[0].credit
        == credit
    )


def test_a_project_may_take_unfree_pictures(database, tmp_path):
    project = Project.on(database, tmp_path, free_pictures=False)
    seat = project.seat("ann")
    token = project.writing.next(seat).claim.token
    credit = Credit(source=FREE.source, creator="Ada", licence="CC BY-NC-ND")
    assert project.writing.check_instruction(
        seat, token, "What is it?", [project.offer(seat, token, 1, credit)]
    )


def test_what_is_no_picture_or_no_picture_of_this_person_is_told_in_a_sentence(project, ann):
    seat, token = ann
    with pytest.raises(DraftError, match="This file is a web page"):
        project.writing.upload_picture(seat, token, b"<html><body>no picture</body></html>")
    bob = project.seat("bob")
    other = project.writing.next(bob).claim.token
    offered = project.offer(bob, other, 2)
    with pytest.raises(DraftError, match="Picture 1 isn't one that you added"):
        project.writing.check_instruction(seat, token, "What is it?", [offered])
    with pytest.raises(DraftError, match="1 to 10 different pictures, and this has 0"):
        project.writing.check_instruction(seat, token, "What is it?", [])
    mine = project.offer(seat, token, 1)
    with pytest.raises(DraftError, match="1 to 10 different pictures, and this has 2"):
        project.writing.check_instruction(seat, token, "What is it?", [mine, mine])
    with pytest.raises(DraftError, match="The text of the instruction is empty"):
        project.writing.check_instruction(seat, token, " \n", [mine])


async def _nowhere(_host: str) -> list[str]:
    return ["127.0.0.1"]


def test_a_link_to_no_public_picture_is_told_in_a_sentence(project, ann):
    seat, token = ann
    project.writing._fetcher = Fetcher(resolve=_nowhere)
    for link, told in (
        ("https://inner.example/cat.jpg", "isn't on the public internet"),
        ("ftp://a.b/c", "Only https"),
    ):
        with pytest.raises(DraftError, match=f"The picture wasn.t fetched: .*{told}"):
            asyncio.run(project.writing.fetch_picture(seat, token, link))


def test_few_links_are_asked_at_once(project, ann):
    """A host that asks for a second picture while it is asked itself."""
    seat, token = ann
    told = []

    class Host:
        async def fetch(self, url: str) -> bytes:
            try:
                await project.writing.fetch_picture(seat, token, url)
            except DraftError as error:
                told.append(str(error))
            return photo(len(told))

    project.writing._fetcher = Host()
    for _ in range(2):  # what was fetched holds nothing
        asyncio.run(project.writing.fetch_picture(seat, token, "https://slow.example/a.jpg"))
        assert told == ["Pictures are being fetched from other links. Try again in half a minute."]
        told.clear()


def test_a_link_whose_server_hangs_holds_no_thread(project, ann):
    seat, token = ann

    class Host:
        async def fetch(self, url: str) -> bytes:
            asked.set()
            await asyncio.Event().wait()
            return b""

    async def others_work() -> str:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        waiting = asyncio.create_task(
            project.writing.fetch_picture(seat, token, "https://a.example/b")
        )
        await asyncio.wait_for(asked.wait(), 10)
        done = await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 10)
        waiting.cancel()
        return done

    asked = asyncio.Event()
    project.writing._fetcher = Host()
    assert asyncio.run(others_work()) == "done"


def test_the_pictures_that_one_may_bring_are_bounded_and_the_same_is_one(project, ann):
    seat, token = ann
    for seed in (1, 1, *range(MOST_BROUGHT - 1)):
        if len(project.writing.brought_pictures(seat, token)) < MOST_BROUGHT:
            project.writing.upload_picture(seat, token, photo(seed + 1))
    assert len(project.writing.brought_pictures(seat, token)) == MOST_BROUGHT - 1
    project.writing.upload_picture(seat, token, photo(500))
    with pytest.raises(DraftError, match="You've added 30 pictures"):
        project.writing.upload_picture(seat, token, photo(501))
    assert len(files(project)) == 2 * MOST_BROUGHT, "what is refused does not stay on the disk"
    with pytest.raises(DraftError, match="You've added 30 pictures"):
        project.writing.upload_picture(seat, token, b"nothing that costs time is done with it")
    with pytest.raises(DraftError, match="You've added 30 pictures"):
        asyncio.run(project.writing.fetch_picture(seat, token, "https://not-asked.example/a.jpg"))


def files(project: Project) -> list[str]:
    """Names of what is kept: each picture with its thumbnail."""
    return [path.name for path in project.writing.pictures.folder.iterdir()]


def test_a_disk_that_takes_no_picture_is_told_in_a_sentence(project, ann, monkeypatch):
    seat, token = ann
    with files_end_at(50), pytest.raises(DraftError, match="disk can't save files right now. Try"):
        project.writing.upload_picture(seat, token, photo(1))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=VOTES_ROOM - 1))
    with pytest.raises(DraftError, match="are kept for votes"):
        project.writing.upload_picture(seat, token, photo(1))
    assert files(project) == project.writing.brought_pictures(seat, token) == []


def test_few_pictures_are_decoded_at_once(project, ann, monkeypatch):
    seat, token = ann
    together, seen, enough = [], [], Event()

    def decode(data: bytes) -> Picture:
        together.append(data)
        if len(together) == MOST_DECODES:
            for _ in range(20):  # by then any other that may begin has begun
                project.writing.brought_pictures(seat, token)
            seen.extend(together)
            enough.set()
        enough.wait()
        return read_picture(data)

    monkeypatch.setattr("arena.authoring.work.read_picture", decode)
    with ThreadPoolExecutor(MOST_DECODES + 2) as threads:
        uploads = [
            threads.submit(project.writing.upload_picture, seat, token, photo(n))
            for n in range(MOST_DECODES + 2)
        ]
    assert (
        len({upload.result().sha256 for upload in uploads}) == MOST_DECODES + 2
        and len(seen) == MOST_DECODES
    )


def test_an_author_is_warned_of_what_is_there_already_and_of_a_told_answer(project, ann):
    seat, token = ann
    offered = project.offer(seat, token, 1)
    project.writing.write(
        seat,
        token,
        project.writing.check_instruction(seat, token, "Which dog is it, and why?", [offered]),
    )
    project.store.draw(project.seat("bob"))
    cem = project.seat("cem")
    token = project.writing.next(cem).claim.token
    again = [project.offer(cem, token, 1), project.offer(cem, token, 7)]
    found = project.writing.check_instruction(
        cem, token, "Which dog is it and why is it?", again, answer="A dog: which?"
    )
    assert len(found.warnings) == 2 and "Picture 1 looks like one in item 1" in found.warnings[0]
    assert found.warnings[1].endswith("another item: Which dog is it, and why?")
    told = project.writing.check_instruction(
        cem, token, "Is the small dog brown or black?", again[1:], answer="brown"
    )
    assert [one[:33] for one in told.warnings] == ["The instruction has all the words"]
    project.writing.write(cem, token, told)
    stored = next(draft for draft in project.drafts if cem.voter in draft.acted_voters)
    assert stored.state.instruction == told, "what was warned of is stored, and stays"


def test_pictures_that_look_alike_are_near_and_others_are_not():
    one = read_picture(photo(1))
    shrunk = Image.open(BytesIO(one.data)).resize((60, 55))
    out = BytesIO()
    shrunk.save(out, "JPEG", quality=60)
    alike, other = read_picture(out.getvalue()), read_picture(photo(2))
    hashes = [difference_hash(picture) for picture in (one, alike, other)]
    assert similar_pictures(hashes[:1], {5: [hashes[1]], 6: [hashes[2]]}) == {1: [5]}
    assert similar_pictures(["0" * 16], {1: [f"{2**6 - 1:016x}"], 2: [f"{2**7 - 1:016x}"]}) == {
        1: [1]
    }


def test_instructions_are_alike_from_four_fifths_of_their_words_on():
    assert similar_texts("one two three four", ["four three two one five"]) == [
        "four three two one five"
    ]
    assert similar_texts("one two three four", ["one two three"]) == []
    assert names_answer("Is it a red ball?", "Red ball.") and not names_answer(
        "What is it?", "red ball"
    )
    assert not names_answer("What is it?", "") and tokens("狗 a dog") == ["狗", "a", "dog"]


def test_words_keep_their_vowel_signs_and_accents():
    assert tokens("पानी नीला") == ["पानी", "नीला"] and tokens("ශ්\u200dරී") == ["ශ්\u200dරී"]
    assert tokens("Cafe\u0301") == tokens("café") and tokens("\u0301 ไทย") == ["ไ", "ท", "ย"]
    assert not names_answer("काला पानी है या नहीं?", "नीला")


def test_a_caption_without_words_does_not_give_the_answer():
    with pytest.raises(DraftError) as raised:
        check_caption(1, "...", "a bus")
    assert "has 0 words" in str(raised.value)


@pytest.mark.parametrize("sign", ["\u3164", "\u2800", "\u200b", "\ufe0f", "\u00a0"])
def test_a_caption_that_cannot_be_seen_is_empty(sign):
    with pytest.raises(DraftError, match="caption of picture 1 is empty"):
        check_caption(1, " ".join([sign] * 20), "")
    seen = f"{CAPTION} {sign}"
    assert check_caption(1, seen, "").startswith(CAPTION)


def test_a_caption_says_what_can_be_seen(project, ann):
    seat, token = ann
    answer = " ".join(f"word{number}" for number in range(20))
    offered = [project.offer(seat, token, seed) for seed in (1, 2)]
    project.writing.write(
        seat, token, project.writing.check_instruction(seat, token, "What is it?", offered, answer)
    )
    bob = project.seat("bob")
    token = project.writing.next(bob).claim.token
    whole = CAPTION.format(1)
    for texts, told in (
        ([whole], "1 captions for 2 pictures"),
        ([whole, "a brown dog"], "caption of picture 2 has 3 words. Write 15"),
        ([whole, ""], "caption of picture 2 is empty"),
        ([answer, whole], "caption of picture 1 only gives the answer"),
        ([whole, "w " * 5000], "caption of picture 2 has 9999 characters"),
    ):
        with pytest.raises(DraftError, match=told):
            project.writing.caption(bob, token, texts)
    project.writing.caption(
        bob, token, [whole, "一只棕色的狗站在草地上,旁边有红色的球和白色的低栅栏"]
    )
    assert project.drafts[0].state.step == "answer"


@pytest.mark.parametrize(
    "caption", ["สุนัขสีน้ำตาลยืนอยู่บนสนามหญ้า", "ឆ្កែពណ៌ត្នោតឈរនៅលើស្មៅ", "赤いボールのそばに立つ茶色い犬"]
)
def test_captions_of_scripts_without_blanks_are_long_enough(caption):
    assert check_caption(1, caption, "") == caption


def test_a_step_is_not_done_as_another(project, ann):
    seat, token = ann
    for act in (
        lambda: project.writing.caption(seat, token, ["a"]),
        lambda: project.writing.answer(seat, token, "a"),
        lambda: project.writing.verify(seat, token, "correct"),
    ):
        with pytest.raises(DraftError, match="moved to another step"):
            act()


def test_a_verdict_is_one_of_those_that_are_offered(project):
    for person in ("ann", "bob", "cem"):
        project.do(project.seat(person))
    dot = project.seat("dot")
    token = project.writing.next(dot).claim.token
    for said in ("", "not told", "Correct", "answer\n"):
        with pytest.raises(DraftError, match="Say whether the answer is correct"):
            project.writing.verify(dot, token, said)
    project.writing.verify(dot, token, "harm", "It tells how to pick a lock.")
    assert project.drafts[0].state.fault == "harm"


def test_a_form_gives_a_credit_and_no_unknown_licence():
    form = {
        "source": " https://a.example/b ",
        "creator": "Ada",
        "licence": "CC BY",
        "statement": "cropped",
    }
    assert credit_of(form) == Credit(
        source="https://a.example/b", creator="Ada", licence="CC BY", statement="cropped"
    )
    assert credit_of({**form, "licence": "WTFPL"}).licence is None and credit_of({}).licence is None


def test_a_picture_that_is_not_offered_is_not_of_the_item(project, ann):
    seat, token = ann
    project.offer(seat, token, 1)
    kept = project.offer(seat, token, 2)
    found = project.writing.check_instruction(
        seat, token, "What is it?", [OfferedPicture(kept.sha256, FREE)]
    )
    assert [picture.sha256 for picture in found.pictures] == [kept.sha256]
