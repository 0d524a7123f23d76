"""The leaderboard tab in a browser."""

from playwright.sync_api import Page


def choose(page: Page, label: str, value: str) -> None:
    """Choose from a dropdown."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=value, exact=True).click()
