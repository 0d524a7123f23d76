// Boards: the table is sorted and searched, and looked at again while it is seen. Without this script it is whole.
(() => {
  const SECONDS = 4;
  if (!document.querySelector("[data-version]")) return;
  let column = null, ascending = false, etag = null;
  const table = () => document.querySelector("#board table");
  const say = (text) => { const line = byId("board-said"); if (line) line.textContent = text; };
  const isText = (name) => name === "model";
  const value = (row, name) => row.querySelector(`.${name}`)?.dataset.value ?? "";  // a board may lack the column

  const before = (one, other) => {
    const a = value(one, column), b = value(other, column);
    if (a === "" || b === "") return (a === "") - (b === "");  // blanks stay last, either way
    const order = isText(column) ? a.localeCompare(b) : Number(a) - Number(b);
    return ascending ? order : -order;
  };
  const sort = () => {
    if (!column || !table()) return;
    for (const body of table().tBodies) {
      body.append(...[...body.querySelectorAll("tr:not(.group)")].sort(before));
    }
    for (const head of table().querySelectorAll("thead th")) {
      const chosen = head.querySelector("button").dataset.column === column;
      head.setAttribute("aria-sort", chosen ? (ascending ? "ascending" : "descending") : "none");
    }
  };
  const search = () => {
    if (!table()) return;
    const words = (byId("board-search")?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...table().querySelectorAll("tbody tr:not(.group)")];
    for (const row of all) {
      const name = value(row, "model").toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
    }
    for (const body of table().tBodies) {
      const shown = body.querySelector("tr:not(.group):not([hidden])");
      for (const heading of body.querySelectorAll(".group")) heading.hidden = !shown;
    }
    say(words.length ? word("found", { shown: all.filter((row) => !row.hidden).length, count: all.length }) : "");
  };
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("#board thead button");
    if (!button) return;
    const chosen = button.dataset.column;
    ascending = chosen === column ? !ascending : isText(chosen) || chosen === "rank";
    column = chosen;
    sort();
    say(word(ascending ? "sorted_up" : "sorted_down", { column: button.textContent }));
  });
  document.addEventListener("input", ({ target }) => { if (target.id === "board-search") search(); });

  // A part is left alone while a menu in it is open or its text is marked; what had the focus has it again.
  const isRead = (part) => {
    const marked = getSelection();
    return part.querySelector("details.menu[open]") || (!marked.isCollapsed && marked.containsNode(part, true));
  };
  const replace = (part, fresh) => {
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    part.replaceWith(fresh);
    sort();
    if (byId("board-search")?.value) search();
    if (focused) [...fresh.querySelectorAll(focused.localName)].find((one) => one.isEqualNode(focused))?.focus({ preventScroll: true });
  };
  const look = async () => {
    const address = location.href;
    const answer = await fetch(address);
    const told = answer.headers.get("etag");
    if (!answer.ok || told === etag) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (location.href !== address) return;
    const parts = [...page.querySelectorAll("[data-version]")];
    const shown = [...document.querySelectorAll("[data-version]")];
    if (parts.length !== shown.length) return location.reload();  // a board's first vote brings its table
    const changed = parts.filter((fresh) => byId(fresh.id).dataset.version !== fresh.dataset.version);
    const free = changed.filter((fresh) => !isRead(byId(fresh.id)));
    for (const fresh of free) replace(byId(fresh.id), fresh);
    if (free.length === changed.length) etag = told;
  };
  setInterval(() => { if (document.visibilityState === "visible") look().catch(() => {}); }, SECONDS * 1000);
})();
