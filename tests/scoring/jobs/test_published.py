"""Published reports in the database: their slugs, who is listed, and what ends with the publication."""

import re
from datetime import timedelta

import pytest

from arena.database import Database, now
from scoring.jobs import published, store
from scoring.jobs.published import PublishedJobs
from scoring.jobs.slugs import free_slug, new_slug
from tests.support.judging_process import OWNER, Bench, set_job
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.mmt_reports import mmt_report

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("title", "begins"),
    [
        ("LLaVA-1.5-13B", "llava-1-5-13b-mm-vet-"),
        ("  Qwen/Qwen3_VL (8B)!  ", "qwen-qwen3-vl-8b-mm-vet-"),
        ("Modèle Élégant", "modele-elegant-mm-vet-"),
        ("模型 🙂", "mm-vet-"),
        ("../../etc/passwd?x=1#y", "etc-passwd-x-1-y-mm-vet-"),
        ("<script>alert(1)</script>", "script-alert-1-script-mm-vet-"),
        ("a" * 5_000, f"{'a' * 40}-mm-vet-"),
        ("\ud800\x00\u202e", "mm-vet-"),
        ("", "mm-vet-"),
    ],
)
def test_a_slug_is_safe_in_any_address_whatever_the_title(title, begins):
    slugs = {new_slug(title, "mm-vet") for _ in range(20)}
    assert len(slugs) > 15, "its end is drawn"
    for slug in slugs:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
        assert slug.startswith(begins) and len(slug) <= len(begins) + 4


def test_a_slug_that_another_report_has_is_drawn_again():
    asked: list[str] = []
    slug = free_slug("m", "mm-vet", lambda one: asked.append(one) or len(asked) < 3)
    assert len(asked) == 3 and slug == asked[-1]


@pytest.mark.locks_or_dialect
def test_a_slug_opens_a_report_while_it_is_published_and_comes_back(database):
    jobs = Bench(database, NOWHERE).jobs
    public = PublishedJobs(database)
    link = jobs.add_done(OWNER, mm_vet_report()).link
    slug = jobs.publish(OWNER, link, True).slug
    assert jobs.find(slug) == jobs.find(link) == public.with_slug(slug)
    assert jobs.report(slug) == jobs.report(link)
    assert jobs.publish(OWNER, link, False).slug == slug
    assert (jobs.find(slug), jobs.report(slug), public.with_slug(slug)) == (None, None, None)
    assert jobs.report(link) and public.counts_by_benchmark() == {}
    assert jobs.publish(OWNER, link, True).slug == slug
    jobs.delete(OWNER, link)
    assert (jobs.find(slug), public.with_slug(slug)) == (None, None)


def test_a_published_report_stays_when_private_ones_expire(database):
    jobs = Bench(database, NOWHERE).jobs
    links = [jobs.add_done(OWNER, mm_vet_report(score)).link for score in (0.1, 0.2)]
    jobs.publish(OWNER, links[0], True)
    for link in links:
        set_job(database, link, finished=now() - store.KEPT_FREE - timedelta(days=1))
    assert jobs.sweep() == 1
    assert jobs.find(links[0]) and jobs.find(links[1]) is None


@pytest.mark.locks_or_dialect
def test_the_list_has_pages_newest_first_and_by_benchmark(database: Database, monkeypatch):
    monkeypatch.setattr(published, "PAGE", 2)
    jobs = Bench(database, NOWHERE).jobs
    reports = [mm_vet_report(n / 10, title=f"m{n}") for n in range(4)]
    for report in (*reports, mmt_report("other", 0.5), mm_vet_report(0.45, title="private")):
        link = jobs.add_done(OWNER, report).link
        jobs.publish(OWNER, link, report.title != "private")
    public = PublishedJobs(database)
    assert public.counts_by_benchmark() == {"mm-vet": 4, "mmt-bench": 1}
    shown = [[job.title for job in public.page("", page).jobs] for page in (0, 1, 2, 3, 9)]
    assert shown == [["other", "m3"], ["other", "m3"], ["m2", "m1"], ["m0"], ["m0"]]
    assert [job.title for job in public.page("mm-vet", 1).jobs] == ["m3", "m2"]
    assert public.page("mm-vet", 1).pages == 2 and public.page("nothing", 1).jobs == ()
