// A task map: the slider shows the clusters of a cut, and the heat map says which two tasks are pointed at.
(() => {
  const byId = (id) => document.getElementById(id);
  const slider = byId("clusters"), heat = byId("heat");
  if (!slider) return;
  const { names, far, pair, none } = JSON.parse(byId("map-data").value);  // far: thousandths, row by row below the diagonal; null: none

  slider.addEventListener("input", () => {
    const clusters = Number(slider.value);
    byId("clusters-said").textContent = clusters;
    for (const one of document.querySelectorAll("[data-fewest]")) {
      one.toggleAttribute("hidden", clusters < Number(one.dataset.fewest) || clusters > Number(one.dataset.most));
    }
    for (const one of document.querySelectorAll("[data-rank]")) one.classList.toggle("above", Number(one.dataset.rank) < clusters);
    for (const one of document.querySelectorAll('input[name="clusters"]')) one.value = clusters;
    for (const one of document.querySelectorAll(".files a[href*='clusters=']")) one.href = one.href.replace(/clusters=\d+/, `clusters=${clusters}`);
  });

  const at = Object.assign(document.createElement("span"), { className: "at" });
  let row = 0, column = 0;
  heat.style.setProperty("--n", names.length);
  const tell = (down, across) => {
    const last = names.length - 1;
    [row, column] = [Math.min(Math.max(down, 0), last), Math.min(Math.max(across, 0), last)];
    const [high, low] = [Math.max(row, column), Math.min(row, column)];
    const distance = high === low ? 0 : far[high * (high - 1) / 2 + low] ?? null;
    const values = { first: names[row], second: names[column], distance: distance === null ? none : (distance / 1000).toFixed(3) };
    byId("heat-said").textContent = pair.replace(/\{(\w+)\}/g, (place, name) => values[name]);
    heat.append(at);
    at.style.left = `${100 * column / names.length}%`;
    at.style.top = `${100 * row / names.length}%`;
  };
  const point = ({ clientX, clientY }) => {
    const { left, top, width, height } = heat.getBoundingClientRect();
    tell(Math.floor(names.length * (clientY - top) / height), Math.floor(names.length * (clientX - left) / width));
  };
  heat.addEventListener("pointermove", point);
  heat.addEventListener("pointerdown", point);
  heat.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    tell(row + step[0], column + step[1]);
  });
})();
