// Pages that are read: copying, tables that fold, and parts that come without their page. All of it works without this script.
(() => {
  const copy = async (button, text) => {
    const label = button.dataset.label ??= button.textContent;
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    if (!copied) {  // a page without https has no clipboard: the browser's old way
      const field = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = word("copied_now");
    setTimeout(() => { button.textContent = label; }, 2000);
  };
  document.addEventListener("click", ({ target }) => {
    const { copy: what, text, address } = target.dataset ?? {};
    if (what === "link") copy(target, location.href);
    if (what === "bibtex") copy(target, target.closest("details").querySelector("pre").textContent);
    if (what === "address") copy(target, new URL(address, location).href);
    if (text) copy(target, text);
    if (target.closest?.("[data-print]")) print();
    const login = target.closest?.('a[href^="/login"]');
    if (login && window.top !== window.self) login.target = "_blank";  // no login runs inside a frame
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
  });
  document.addEventListener("keydown", ({ key }) => {
    const menu = key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
})();

// An address that ends in the name of a sheet opens it, as after the button that led there.
addEventListener("DOMContentLoaded", () => {
  const sheet = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  if (sheet && sheet.matches("details.sheet")) sheet.open = true;
});

// A form or link with data-part brings that part of its address alone, and the address with it; chosen boxes send their form.
(() => {
  const isSame = (one, other) => ["name", "value", "textContent"].every((what) => one[what] === other[what]);
  const focusAgain = (part, focused) => {
    const again = [...part.querySelectorAll(focused.localName)].find((one) => isSame(one, focused));
    again?.focus({ preventScroll: true });
  };
  const latest = {};  // the address asked for last, by part: an answer to an earlier one comes too late
  const bring = async (address, name) => {
    latest[name] = address;
    byId(name).setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address);
      const told = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(name);
      if (latest[name] !== address) return;
      if (!answer.ok || !told) throw new TypeError("not a part");
      const old = byId(name);
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      old.replaceWith(told);
      if (focused) focusAgain(told, focused);
      history.replaceState({ part: name }, "");
      history.pushState({ part: name }, "", address);
    } catch {
      if (latest[name] === address) location.assign(address);
    }
  };
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-part]");
    if (!form) return;
    event.preventDefault();
    const filled = [...new FormData(form)].filter(([, value]) => value);
    bring(`${new URL(form.action).pathname}?${new URLSearchParams(filled)}`, form.dataset.part);
  });
  document.addEventListener("change", ({ target }) => target.closest("form[data-part]")?.requestSubmit());
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-part]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    bring(link.href, link.dataset.part);
  });
  addEventListener("popstate", ({ state }) => { if (state?.part) location.reload(); });
})();

// Tables by level: a row with rows below it folds them out and in; "Unfold all" does it for every row.
(() => {
  const depth = (row) => Number(row.dataset.depth);
  const button = (row) => row.querySelector("button[aria-expanded]");
  const open = (row) => button(row)?.getAttribute("aria-expanded") === "true";

  const show = (table) => {  // a row is seen if every row above it is unfolded
    let folded = Infinity;
    for (const row of table.tBodies[0].rows) {
      row.hidden = depth(row) > folded;
      if (!row.hidden) folded = button(row) && !open(row) ? depth(row) : Infinity;
    }
  };
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest?.(".levels table button");
    if (!pressed) return;
    const table = pressed.closest("table");
    if (pressed.classList.contains("unfold")) {
      const all = [...table.querySelectorAll("tbody button[aria-expanded]")];
      const unfold = all.some((one) => one.getAttribute("aria-expanded") === "false");
      for (const one of all) one.setAttribute("aria-expanded", String(unfold || !depth(one.closest("tr"))));
      pressed.textContent = word(unfold ? "fold" : "unfold");
    } else {
      pressed.setAttribute("aria-expanded", String(pressed.getAttribute("aria-expanded") !== "true"));
    }
    show(table);
  });
})();

// The operators' link: its code leaves the address bar, and the form that stands on the page sends it.
(() => {
  const enter = () => {
    const code = /^#code=(.+)/.exec(location.hash)?.[1], form = byId("operator-code");
    if (!code) return;
    history.replaceState(null, "", location.pathname);
    if (!form) return;
    form.elements.code.value = code;
    form.submit();
  };
  enter();
  addEventListener("hashchange", enter);
})();
