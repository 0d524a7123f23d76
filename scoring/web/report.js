// A report's link, citation and tables, copied as a paper needs them.
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
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  };
  document.addEventListener("click", ({ target }) => {
    const { copy: what, text } = target.dataset ?? {};
    if (what === "link") copy(target, location.href);
    if (what === "bibtex") copy(target, target.closest("details").querySelector("pre").textContent);
    if (text) copy(target, text);
    if (target.closest?.("[data-print]")) print();
  });
})();
