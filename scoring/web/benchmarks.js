// The list of benchmarks is searched by all that its lines say, headings included. Without this script it is whole.
(() => {
  const search = () => {
    const words = byId("benchmark-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const lines = [...document.querySelectorAll(".benchmarks li")];
    for (const group of document.querySelectorAll("section.kind")) {
      const heading = group.querySelector("h2").textContent;
      for (const line of group.querySelectorAll("li")) {
        const text = `${heading} ${line.textContent}`.toLowerCase();
        line.hidden = !words.every((word) => text.includes(word));
      }
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    const shown = lines.filter((line) => !line.hidden).length;
    byId("benchmarks-said").textContent = words.length ? word("benchmarks_found", { shown, count: lines.length }) : "";
  };
  document.addEventListener("input", ({ target }) => { if (target.id === "benchmark-search") search(); });
})();
