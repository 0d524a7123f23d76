// Links within a page; all addresses begin at the root, so that a bare #name would leave it. The first leads past the bar.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  event.preventDefault();
  const seen = (parts) => [...document.querySelectorAll(parts)].find((part) => part.offsetParent !== null);
  const content = () => seen("main h2") ?? seen("main table");
  const target = link.getAttribute("href");
  const first = (target === "#content" ? content() : null) ?? seen(target);
  if (first?.tabIndex < 0) first.tabIndex = -1;
  first?.focus();
});
