// The results in the browser: links and chips change the address, by which the server says what is shown; the table is
// sorted, searched, and kept up to date while it is looked at.
const results = (() => {
  const SECONDS = 4;
  let column = null, ascending = false;
  const byId = (id) => document.getElementById(id);
  const say = (text) => { const line = byId("board-said"); if (line) line.textContent = text; };
  const isText = (name) => name === "model";
  const rows = (table) => [...table.querySelectorAll("tbody tr:not(.group)")];
  const value = (row, name) => row.querySelector(`.${name}`)?.dataset.value ?? "";  // a board may lack the column

  const before = (one, other) => {
    const [a, b] = [value(one, column), value(other, column)];
    if (a === "" || b === "") return (a === "") - (b === "");  // blanks stay last, either way
    const order = isText(column) ? a.localeCompare(b) : Number(a) - Number(b);
    return ascending ? order : -order;
  };
  const sort = (table) => {
    if (!column) return;
    for (const body of table.tBodies) {
      body.append(...[...body.querySelectorAll("tr:not(.group)")].sort(before));
    }
    for (const head of table.querySelectorAll("thead th")) {
      const chosen = head.querySelector("button").dataset.column === column;
      head.setAttribute("aria-sort", chosen ? (ascending ? "ascending" : "descending") : "none");
    }
  };
  const search = (table) => {
    const words = (byId("board-search")?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const all = rows(table);
    const fits = all.filter((row) => {
      const name = value(row, "model").toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
      return !row.hidden;
    });
    for (const body of table.tBodies) {
      const shown = body.querySelector("tr:not(.group):not([hidden])");
      for (const heading of body.querySelectorAll(".group")) heading.hidden = !shown;
    }
    say(words.length ? `${fits.length} of ${all.length} models` : "");
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#board thead button");
    if (!button) return;
    const chosen = button.dataset.column;
    ascending = chosen === column ? !ascending : isText(chosen) || chosen === "rank";
    column = chosen;
    sort(button.closest("table"));
    say(`Sorted by ${button.textContent}, ${ascending ? "ascending" : "descending"}`);
  });
  document.addEventListener("input", (event) => {
    const table = document.querySelector("#board table");
    if (event.target.id === "board-search" && table) search(table);
  });
  // Gradio brings the old table to the new one's state, node by node; the mark goes with it, and tells that to us.
  new MutationObserver(() => {
    const table = document.querySelector("#board table:not([data-ordered])");
    if (!table) return;
    table.dataset.ordered = "yes";
    sort(table);
    if (byId("board-search")?.value) search(table);
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-ordered"] });
  setInterval(() => {
    const board = byId("board"), reading = document.querySelector("#board-head :popover-open");
    if (board?.offsetParent && !document.hidden && !reading) byId("board-refresh")?.click();
  }, SECONDS * 1000);

  // Addresses in the page stay those of where it was opened, whatever its address becomes.
  if (!document.querySelector("base")) {
    document.head.append(Object.assign(document.createElement("base"), { href: new URL(".", location.href).href }));
  }
  const go = (address) => {
    for (const menu of document.querySelectorAll("#board-head :popover-open")) menu.hidePopover();
    history.pushState(null, "", address);
    byId("board-open").click();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-results], #model .figures a");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.href);
    if (link.closest("#model, #board")) scrollTo(0, 0);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form[data-results]");
    if (!form) return;
    event.preventDefault();
    const filled = [...new FormData(form)].filter(([, value]) => value);
    go(`${form.action}?${new URLSearchParams(filled)}`);
  });
  addEventListener("popstate", () => byId("board-open")?.click());
  document.addEventListener("toggle", (event) => {  // a menu opens below its chip; on a phone CSS puts it at the bottom
    if (!event.target.matches?.("#board-head .menu") || event.newState !== "open") return;
    const chip = document.querySelector(`[popovertarget="${event.target.id}"]`).getBoundingClientRect();
    event.target.style.top = `${chip.bottom + 4}px`;
    event.target.style.left = `${Math.max(8, Math.min(chip.left, innerWidth - event.target.offsetWidth - 8))}px`;
  }, true);
  return { address: () => (location.pathname + location.search).slice(0, 4000) };
})();
