// Links within a page; all addresses begin at the root, so that a bare #name would leave it. The first leads past the bar.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  event.preventDefault();
  const seen = (parts) => [...document.querySelectorAll(parts)].find((part) => part.offsetParent !== null);
  const content = () => seen("main h2") ?? seen("main table") ?? seen("main [role=tab]");
  const target = link.getAttribute("href");
  const first = (target === "#content" ? content() : null) ?? seen(target);
  if (first?.tabIndex < 0) first.tabIndex = -1;
  first?.focus();
});

// The boards of judge models and the agreement have addresses of their own: /results#judges and /results#agreement.
(() => {
  const named = { "judges-button": "#judges", "agreement-button": "#agreement" };
  const tabs = () => [...document.querySelectorAll("[role=tab]")];
  if (Object.values(named).includes(location.hash)) {
    new MutationObserver((_, observer) => {
      const tab = tabs().find(({ id }) => named[id] === location.hash);
      if (!tab) return;
      observer.disconnect();
      tab.click();
    }).observe(document, { childList: true, subtree: true });
  }
  document.addEventListener("click", ({ target }) => {
    const tab = target.closest?.("[role=tab]");
    if (!tab || !tabs().some(({ id }) => id in named)) return;
    history.replaceState(null, "", location.pathname + location.search + (named[tab.id] ?? ""));
  });
})();
