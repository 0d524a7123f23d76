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
      pressed.textContent = unfold ? "Fold" : "Unfold all";
    } else {
      pressed.setAttribute("aria-expanded", String(pressed.getAttribute("aria-expanded") !== "true"));
    }
    show(table);
  });
})();
