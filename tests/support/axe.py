"""axe-core: what keeps people with assistive technology out of a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect


def faults(page: Page) -> list[str]:
    """What axe-core finds, each with the first parts of the page that it concerns."""
    expect(page.locator(".loading")).to_have_count(0)  # Gradio's own, before the page is whole
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:4]]}"
        for one in found
    ]
