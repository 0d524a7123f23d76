"""The task map in a browser and by its addresses: on its own, under a report, of a file; no private report is in it."""

import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.database import Database
from arena.web.cookies import cookie_hash
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import Jobs
from scoring.task_map.reports import ReportAccuracies
from tests.support.axe import faults
from tests.support.judging_process import set_job
from tests.support.mmt_reports import mmt_report
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer

OWNER, OTHER = cookie_hash("o" * 32), cookie_hash("p" * 32)
HOSTILE = "<script>document.title='run'</script>"
SECRET = "Very secret model"


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[tuple[AppServer, dict[str, str]]]:
    """An app with reports by title: five published, one of another protocol, one private."""
    folder = tmp_path_factory.mktemp("task_map")
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    jobs, links = Jobs(database), {}
    made = [mmt_report(f"model {number}", 0.3 + number / 10) for number in range(4)]
    made += [
        mmt_report(HOSTILE, 0.8),
        mmt_report("other", 0.5, protocol="mmt-paper"),
        mmt_report(SECRET, 0.9),
    ]
    for report in made:
        job = jobs.add_done(OTHER if report.title == SECRET else OWNER, report)
        links[report.title] = job.link
        if report.title != SECRET:
            jobs.publish(OWNER, job.link, True)
    database.close()
    running = AppServer(folder, DEMO_BANK="off")
    yield running, links
    running.stop()


@pytest.fixture
def get(app):
    return lambda path, **query: httpx.get(f"{app[0].address}{path}", params=query, timeout=60)


def rows_of(html: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, those of hidden rows left out."""
    table = unescape(html).partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    rows = re.findall(r"<tr([^>]*)>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        for hides, row in rows
        if "hidden" not in hides
    ]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in cells]


def test_the_map_on_its_own_is_of_the_papers_models_and_says_what_it_is_not(get):
    page = get("/task-map")
    assert page.status_code == 200 and len(page.content) < 1_000_000
    assert "no substitute for the paper" in page.text and "Circular here" in page.text
    assert "1 task without a place" in page.text and "Traffic Light Understanding" in page.text
    assert len(rows_of(page.text, "Clusters of this map")) == 12
    paper = rows_of(page.text, "The paper's 12 clusters")
    assert paper[1][:8] == ["2", "in", "53", "64.7", "0.73", "64.7", "0.73", paper[1][7]]
    assert SECRET not in page.text and "model 1" not in page.text


def test_a_map_is_in_the_language_of_each_reader(app):
    address = f"{app[0].address}/task-map?linkage=ward"
    languages = ("zh", "en", "zh")
    pages = [
        httpx.get(address, headers={"accept-language": name}, timeout=60) for name in languages
    ]
    assert ["Ward 连接" in page.text for page in pages] == [True, False, True]
    assert "Ward linkage" in pages[1].text


def test_a_page_that_takes_files_is_read_as_any_other(get, app):
    """Its address takes large bodies, so that reading it is told apart by the method."""
    page = httpx.head(f"{app[0].address}/task-map", timeout=60)
    assert page.status_code == 200
    assert page.headers["etag"]


def test_other_cuts_linkages_and_models_by_the_address(get):
    page = get("/task-map", paper="32", linkage="ward", clusters="7", task="doc_vqa")
    assert len(rows_of(page.text, "Clusters of this map")) == 7
    assert (
        "Ward linkage" in page.text
        and "Nearest to Doc VQA" in page.text
        and "without a place" not in page.text
    )
    strange = get("/task-map", paper="33", linkage="single", clusters="9" * 30, task=HOSTILE)
    assert (
        strange.status_code == 200
        and "We couldn&#39;t read this part of the address" in strange.text
    )
    assert (
        "clusters=999" in strange.text and len(rows_of(strange.text, "Clusters of this map")) == 12
    )
    assert HOSTILE not in strange.text


def test_few_models_make_no_map_and_four_no_tau(get):
    page = get("/task-map", paper="0", here="MMT-Bench VAL, strict")
    assert (
        "A map needs ten models. Here: 5." in page.text
        and "5 published reports (MMT-Bench VAL, strict)" in page.text
    )
    assert HOSTILE not in page.text and SECRET not in page.text
    paper = rows_of(page.text, "The paper's 12 clusters")
    assert paper[0][4] != "–"
    one = get("/task-map", paper="0", here="MMT-Bench VAL, mmt-paper")
    assert {row[4] for row in rows_of(one.text, "The paper's 12 clusters")} == {"–"}
    assert "Tau needs five models. Here: 1." in one.text


def test_a_reports_map_names_what_is_mixed_and_keeps_a_private_one_to_its_link(get, app):
    links = app[1]
    page = get(f"/report/{links[SECRET]}/task-map", task="doc_vqa")
    assert SECRET in page.text and "noindex" in page.text and "predicted place" in page.text
    assert (
        "this report (MMT-Bench VAL, strict); the paper" in page.text
        and "all read the same way" in page.text
    )
    again = get(f"/report/{links[SECRET]}/task-map", here="MMT-Bench VAL, strict", paper="0")
    assert "this report (MMT-Bench VAL, strict); 5 published reports" in again.text
    assert "all read the same way" not in again.text
    assert (
        SECRET not in get(f"/report/{links['model 1']}/task-map", here="MMT-Bench VAL, strict").text
    )
    assert get("/report/nothing/task-map").headers["location"] == "/report/nothing"


def test_a_report_made_private_leaves_the_map(get, app):
    server, links = app
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    told = [get("/task-map").text]
    for published in (False, True):
        Jobs(database).publish(OWNER, links["other"], published)
        told.append(get("/task-map").text)
    database.close()
    assert ["1 report: MMT-Bench VAL, mmt-paper" in text for text in told] == [True, False, True]


def test_a_published_report_that_cannot_be_read_any_more_is_left_out(tmp_path):
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        jobs = Jobs(database)
        links = [jobs.add_done(OWNER, mmt_report(name, 0.5)).link for name in ("old", "new")]
        for link in links:
            jobs.publish(OWNER, link, True)
        set_job(database, links[0], report="{}")
        accuracies = ReportAccuracies(jobs, PublishedJobs(database))
        assert accuracies.report(links[0]) is None
        (pool,) = accuracies.pools().values()
        assert [report.link for report in pool] == [links[1]]


def test_files_of_the_map_come_down_and_distances_go_up_again(get, app):
    found = get("/task-map/distances.csv", linkage="complete")
    assert found.status_code == 200 and len(found.text.splitlines()) == 162
    clusters = get("/task-map/clusters.csv", clusters="5").text
    assert {line.split(",")[0] for line in clusters.splitlines()[1:]} == set("12345")
    assert (
        get("/task-map/tree.nwk").text.endswith(";\n") and get("/task-map/other").status_code == 404
    )
    assert get("/task-map/tree.nwk", paper="0").status_code == 409

    def bring(content: bytes, name: str = "mine.csv"):
        files = {"file": (name, content, "text/csv")}
        return httpx.post(f"{app[0].address}/task-map", files=files, timeout=60)

    back = bring(found.content)
    assert back.status_code == 200 and "from the file mine.csv" in back.text
    assert "Mantel correlation 1.000 (p" in back.text
    wrong = bring(b"task,a,b\na,0,9\nb,9,0\n")
    assert wrong.status_code == 409 and "from 0 to 2" in wrong.text
    lacks = bring(b'[{"task": "a", "a": 0, "b": 1}, {"task": "b", "a": 1}]', f"{'m' * 90}.json")
    assert (
        lacks.status_code == 409
        and "m.json, row 1, column &#39;b&#39;: Expected this column" in lacks.text
    )
    toys = bring(b"task,a,b,<i>c\na,0,1,.5\nb,1,0,1\n<i>c,.5,1,0\n")
    assert (
        "There&#39;s no tau here" in toys.text
        and "<i>c" not in toys.text
        and "share 0 tasks" in toys.text
    )
    assert bring(b"x" * 3_000_000).status_code == 413


@pytest.mark.parametrize("path", ["/task-map", "/marks?report=x"])
@pytest.mark.parametrize("charset", ["punycode", "undefined"])
def test_a_form_with_a_file_names_no_encoding_of_its_own(app, path, charset):
    headers = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="\\ud800.csv"\r\n\r\na\r\n--x--\r\n'
    answer = httpx.post(f"{app[0].address}{path}", content=form, headers=headers)
    assert (answer.status_code, "charset. Send it as UTF-8" in answer.text) == (400, True)


@pytest.fixture
def page(browser, app) -> Iterator[Page]:
    with fresh_page(browser, DESK) as opened:
        opened.goto(f"{app[0].address}/task-map?task=doc_vqa")
        yield opened


@pytest.mark.soak
def test_the_slider_cuts_the_tree_and_the_map_names_two_tasks(page):
    assert faults(page) == []
    rows = page.locator("#cut tbody tr:visible")
    expect(rows).to_have_count(12)
    page.locator("#clusters").fill("4")
    expect(rows).to_have_count(4)
    expect(page.locator(".heat rect:visible")).to_have_count(4)
    expect(page.locator("#tree path.above")).to_have_count(3)
    expect(page.locator(".files a").nth(1)).to_have_attribute("href", re.compile("clusters=4"))
    heat = page.locator("#heat")
    heat.hover(position={"x": 3, "y": 100})
    expect(page.locator("#heat-said")).to_have_text(re.compile(r".+ and .+: \d\.\d{3}"))
    heat.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    before = page.locator("#heat-said").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("#heat-said").inner_text() != before
    shoot(page, "task-map")


def test_a_report_shows_the_papers_clusters_and_leads_to_its_map(browser, app):
    server, links = app
    with fresh_page(browser, DESK) as opened:
        opened.goto(f"{server.address}/report/{links['model 1']}")
        clusters = opened.locator("[data-sheet=clusters]")
        expect(clusters.locator("tbody tr")).to_have_count(12)
        assert clusters.locator("tbody tr").nth(1).locator("td").nth(1).inner_text() == "53"
        shoot(opened, "report-clusters")
        opened.get_by_role("link", name="Task map").click()
        expect(opened.get_by_role("heading", name="Task map: model 1")).to_be_visible()
