"""The page of a board in a browser."""

import re

from playwright.sync_api import Page


def choose(page: Page, label: str, value: str) -> None:
    """Choose from the menu of a chip."""
    open_menu(page, label)
    menu = page.locator("#board-head details[open]")
    menu.get_by_role("link", name=value, exact=True).click()


def open_menu(page: Page, label: str) -> None:
    """Open the menu of a chip, which is called by its small print."""
    small = page.locator("small", has_text=re.compile(f"^{label}$"))
    page.locator("#board-head summary", has=small).click()


def choose_plot(page: Page, name: str) -> None:
    """Choose one of the charts below a board."""
    page.locator("#board-plots nav").get_by_role("link", name=name, exact=True).click()
