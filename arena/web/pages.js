// A wrong address was sent on to the nearest page, which says so.
(() => {
  const wrong = new URLSearchParams(window.location.search).get("wrong");
  if (!wrong) return;
  const say = (_, observer) => {
    const line = document.getElementById("address-said");
    if (!line) return;
    observer.disconnect();
    line.textContent = `There is nothing at ${wrong}. This is the nearest page.`;
    line.hidden = false;
  };
  new MutationObserver(say).observe(document, { childList: true, subtree: true });
})();

// The first link of a page leads past its bar; all addresses begin at the root, so that a bare #name would leave the page.
document.addEventListener("click", (event) => {
  if (!event.target.closest?.(".skip-link")) return;
  event.preventDefault();
  const first = document.querySelector("#instruction-heading, main h2, main table, main [role=tab]");
  first?.setAttribute("tabindex", "-1");
  first?.focus();
});
