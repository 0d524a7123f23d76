// A report's link, citation and tables, copied as a paper needs them.
(() => {
  const shownText = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("small").forEach((small) => {
      const inner = small.textContent.trim();
      small.textContent = inner && !inner.startsWith("(") ? ` (${inner})` : ` ${inner}`;
    });
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  const rows = (table) => [...table.rows].map((row) => [...row.cells].map(shownText));
  const SPECIAL = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--" };
  const MATHS = { "−": "-", "×": "\\times", "≤": "\\leq", "≥": "\\geq", "≈": "\\approx", "→": "\\to", "α": "\\alpha", "β": "\\beta",
    "κ": "\\kappa", "μ": "\\mu", "ρ": "\\rho", "τ": "\\tau", "Δ": "\\Delta" };
  const latexText = (text) => text.replace(/./gu, (sign) => {
    if (sign in MATHS) return `$${MATHS[sign]}$`;
    return SPECIAL[sign] ?? ("&%$#_{}".includes(sign) ? `\\${sign}` : sign);
  });
  const ways = {
    LaTeX: (table) => {
      const [head, ...body] = rows(table).map((row) => `${row.map(latexText).join(" & ")} \\\\`);
      const columns = `l${"r".repeat(table.rows[0].cells.length - 1)}`;
      return [`\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}", ""].join("\n");
    },
    Markdown: (table) => {
      const [head, ...body] = rows(table).map((row) => `| ${row.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`);
      return [head, `|${" --- |".repeat(table.rows[0].cells.length)}`, ...body, ""].join("\n");
    },
    CSV: (table) => rows(table).map((row) => `${row.map((text) => `"${text.replaceAll('"', '""')}"`).join(",")}\n`).join(""),
  };

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
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  };
  document.addEventListener("click", ({ target }) => {
    const what = target.closest?.("[data-copy]")?.dataset.copy;
    if (what === "link") copy(target, location.href);
    else if (what === "bibtex") copy(target, target.closest("details").querySelector("pre").textContent);
    else if (what) copy(target, ways[what](target.closest(".copies").previousElementSibling));
    if (target.closest?.("[data-print]")) print();
  });

  const offer = () => {
    for (const table of document.querySelectorAll(":is(#report, #automatic, #agreement-body) table:has(thead):not([data-copies], .as-table table)")) {
      table.dataset.copies = "";
      const line = Object.assign(document.createElement("p"), { className: "copies", textContent: "Copy as " });
      for (const way of Object.keys(ways)) {
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: way });
        button.dataset.copy = way;
        line.append(button, " ");
      }
      table.after(line);
    }
  };
  new MutationObserver(offer).observe(document, { childList: true, subtree: true });
})();
