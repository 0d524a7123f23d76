"""axe-core: what keeps people with assistive technology out of a page."""

from functools import cache

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

_FAULTS = """options => axe.run({ resultTypes: ["violations"], ...options }).then(({ violations }) => violations.map(
  ({ id, help, nodes }) => `${id}: ${help}: ${JSON.stringify(nodes.slice(0, 4).map((node) => node.target))}`
))"""


def faults(page: Page, *rules: str) -> list[str]:
    """What axe-core finds by these rules or by all, each with the first parts of the page that it concerns."""
    expect(page.locator(".loading")).to_have_count(0)  # Gradio's own, before the page is whole
    if not page.evaluate("'axe' in window"):
        page.evaluate(_core())
    return page.evaluate(_FAULTS, {"runOnly": [*rules]} if rules else {})


@cache
def _core() -> str:
    return Axe().axe_script
