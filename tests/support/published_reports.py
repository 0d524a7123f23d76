"""Publishing a report by its page, and where it stands then."""

from playwright.sync_api import Page, expect


def published(page: Page) -> str:
    """Publish the report of an open page by its sheet; return its slug. The public page is open then."""
    page.locator("summary", has_text="Share").click()
    page.get_by_role("button", name="Publish report", exact=True).click()
    expect(page.locator(".share-sheet")).to_contain_text("Anyone can find and read this report.")
    return page.url.partition("#")[0].rpartition("/r/")[2]


def public_addresses(slug: str) -> list[str]:
    """Return the addresses that hang on a slug, the page first."""
    return [
        *(f"/r/{slug}", f"/r/{slug}.png", f"/r/{slug}.svg", f"/badge/{slug}.svg", f"/embed/{slug}"),
        *(f"/report/{slug}/answers", f"/report/{slug}?with={slug}", f"/report/{slug}/people"),
    ]
