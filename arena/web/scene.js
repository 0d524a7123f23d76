// The battle on its page: acts go to the server, the parts that changed come back. Keys, pictures and switches of all battles.
const isShown = (element) => Boolean(element) && !element.disabled && element.getClientRects().length > 0;
const pause = (milliseconds) => new Promise((wake) => {
  setTimeout(wake, milliseconds);
  addEventListener("online", wake, { once: true });
});

// What a server said no to, in its words; anything else did not reach it.
class Refused extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}
const PATIENCE = 15_000, AGAIN = 3_000;  // milliseconds
const answerOf = async (response) => {
  const kind = response.headers.get("content-type") ?? "";
  if (response.ok && kind.startsWith("application/json")) return response.json();
  if (kind.startsWith("text/plain") && ![502, 504].includes(response.status)) throw new Refused(await response.text(), response.status);
  throw new TypeError("not from here");
};
// Any server may answer with JSON, as a network's login page does: a scene has parts.
const sceneOf = (told) => {
  if (!told?.parts) throw new TypeError("not a scene");
  return told;
};
const post = async (path, sent) => answerOf(await fetch(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(sent), signal: AbortSignal.timeout(PATIENCE),
}));
const fetched = async (path) => answerOf(await fetch(path, { signal: AbortSignal.timeout(PATIENCE) }));

// Which pictures are here and which answers were in sight: only then can anybody choose.
class Looks {
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    this.seen = new Set();
    this.fates = new WeakMap();
    for (const event of ["load", "error"]) root.addEventListener(event, ({ target }) => { if (target.matches?.(".subject img")) this.decode(target); }, true);
    for (const event of ["scroll", "resize"]) addEventListener(event, changed, { passive: true });
    addEventListener("online", () => this.askAgain());
  }
  pictures() { return [...this.root.querySelectorAll(".subject .enlarge img")]; }
  fate(picture) { return this.fates.get(picture); }
  // A picture counts once it is decoded: only then can anybody have seen it.
  async decode(picture) {
    const { src } = picture;
    this.fates.set(picture, "loading");
    const fate = await picture.decode().then(() => "decoded", () => "failed");
    if (picture.src !== src) return;
    this.fates.set(picture, fate);
    this.onLooked?.();
    this.changed();
  }
  askAgain() {
    for (const picture of this.pictures().filter((one) => this.fate(one) === "failed")) {
      this.fates.delete(picture);
      picture.src = picture.getAttribute("src");
    }
  }
  // An answer counts once its first line stood above the bar: cards stand side by side, one below the other, or alone.
  look() {
    const bar = this.root.querySelector(".dock").getBoundingClientRect();
    for (const card of this.root.querySelectorAll(".answer")) {
      const { top, bottom } = card.getBoundingClientRect();
      if (bottom > 0 && top + 60 < Math.min(bar.top, innerHeight) && card.querySelector(".text").textContent.trim()) this.seen.add(card.dataset.side);
    }
    this.pictures().filter((picture) => picture.complete && !this.fate(picture)).forEach((picture) => this.decode(picture));
  }
  waitsFor() {
    if (!this.pictures().every((picture) => this.fate(picture) === "decoded")) return "pictures";
    return this.seen.size < 2 ? "answers" : "";
  }
  hasFailed() { return this.pictures().some((picture) => this.fate(picture) === "failed"); }
}

// A battle in its frame: shows scenes, and keeps from being pressed what cannot or should not be.
class Battle {
  constructor(root) {
    this.root = root;
    this.dock = root.querySelector(".dock");  // shows by its attributes where the battle stands
    this.token = this.about = this.phase = this.choice = "";
    this.shown = {};
    this.busy = "";
    this.side = "a";
    this.seconds = 0;
    this.hasBegun = false;
    this.timer = null;
    this.changedAt = -Infinity;
    this.looks = new Looks(root, () => this.check());
    root.addEventListener("click", (event) => this.guard(event), true);
    root.addEventListener("click", (event) => this.press(event));
    document.addEventListener("keydown", ({ key }) => { if (key === "Escape") this.open(false); });
    this.listenToSwipes();
  }
  part(name) { return this.root.querySelector(`[data-part="${name}"]`); }
  say(text) { byId("problem").textContent = text; }

  show(scene) {
    const isNew = scene.about !== this.about;
    if (isNew) {
      this.looks.seen.clear();
      this.side = "a";
    }
    const below = this.root.querySelector(".below");
    const { height } = below.getBoundingClientRect();
    for (const [name, html] of Object.entries(scene.parts)) {
      if (this.shown[name] === html) continue;
      this.part(name).innerHTML = html;
      this.shown[name] = html;
    }
    // A and B keep their place when the terms go: the line below them is as high as it was, until the next battle.
    below.style.minHeight = isNew ? "" : `${height}px`;
    if (scene.phase !== this.phase || isNew) this.changedAt = performance.now();
    this.token = scene.battle;
    this.about = scene.about;
    this.phase = scene.phase;
    this.choice = scene.choice ?? "";
    this.seconds = scene.seconds ?? 0;
    this.hasBegun = true;
    this.say(scene.problem ?? "");
    this.open(false);
    this.check();
    clearTimeout(this.timer);
    if (this.phase === "voted") this.timer = setTimeout(() => this.finish(), this.untilNames());
    return isNew;
  }
  check() {
    const { dock, phase, looks } = this;
    dock.dataset.phase = phase || "none";
    dock.dataset.side = this.side;  // which card a phone shows, and so what can be seen
    if (phase === "open" || phase === "growing") looks.look();
    const chosen = this.choice || this.marked || "";
    const waits = phase === "held" ? "pictures" : this.isOpen() ? looks.waitsFor() : "";
    dock.dataset.choice = chosen;
    dock.dataset.waits = waits;
    dock.toggleAttribute("data-undo", this.seconds > 0);
    dock.toggleAttribute("data-begun", this.hasBegun);
    dock.classList.toggle("failed", looks.hasFailed());
    const isShut = !this.isOpen() || waits !== "" || chosen !== "" || this.busy !== "";
    for (const side of ["a", "b"]) byId(`choose-${side}`).disabled = isShut;
    dock.classList.toggle("ready", !isShut);
    for (const button of this.root.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === this.side));
  }
  // Milliseconds in which a choice can be taken back, or until what went wrong is read.
  untilNames() { return 1000 * Math.max(this.seconds, byId("problem").textContent ? 3 : 0); }
  // The choice can no longer be taken back.
  finish() {
    this.seconds = 0;
    this.check();
    this.act("names");
  }
  isOpen() { return this.phase === "open"; }
  act() {}

  // A press that comes right after a change was meant for what stood there before.
  guard(event) {
    const isPress = event.detail > 0 && event.target.closest(".dock button, .answer") && !event.target.closest("a, summary");
    if (!isPress || performance.now() - this.changedAt > 600) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  press(event) {
    const { target } = event;
    const button = target.closest("button");
    if (button?.dataset.act) this.act(button.dataset.act, button.dataset.value);
    else if (button?.dataset.press) byId(button.dataset.press).click();
    else if (button?.dataset.show) this.turn(button.dataset.show);
    else if (button?.hasAttribute("data-opens")) this.open(byId("reasons").hidden);
    else if (!button) this.pressCard(target);
  }
  // On a wide screen the whole card is a button, but for what stands in it.
  pressCard(target) {
    target.closest(".instruction-text")?.classList.toggle("open");
    const card = target.closest(".answer");
    if (!card || !this.dock.classList.contains("ready") || narrow.matches || target.closest("a, summary") || String(getSelection())) return;
    byId(`choose-${card.dataset.side}`).click();
  }
  open(on) {
    const reasons = byId("reasons");
    if (!reasons || reasons.hidden === !on) return;
    reasons.hidden = !on;
    this.changedAt = performance.now();
    byId("skip").setAttribute("aria-expanded", String(on));
    if (on) reasons.querySelector("button").focus({ preventScroll: true });
    else byId("skip").focus({ preventScroll: true });
  }
  turn(side) {
    this.side = side;
    this.check();
  }
  listenToSwipes() {
    let from = null;
    this.root.addEventListener("touchstart", ({ target, touches }) => {
      from = target.closest(".answers") && touches.length === 1 ? touches[0] : null;
    }, { passive: true });
    this.root.addEventListener("touchend", ({ changedTouches: [to] }) => {
      if (!from || !narrow.matches) return;
      const x = to.clientX - from.clientX;
      const y = to.clientY - from.clientY;
      from = null;
      if (Math.abs(x) > 60 && Math.abs(x) > 2 * Math.abs(y)) this.turn(x < 0 ? "b" : "a");
    }, { passive: true });
  }
}
const narrow = matchMedia("(max-width: 700px)");

// A battle whose acts are requests. One at a time; one that does not reach the server is sent again, a choice also after a reload.
const PENDING = "choice";
class SentBattle extends Battle {
  async act(name, value = "") {
    if (this.busy || (name === "choose" && !this.isOpen())) return;
    this.busy = name;
    this.say("");
    clearTimeout(this.timer);
    if (name === "choose") this.mark(value);
    const { path, sent } = this.request(name, value);
    try {
      const scene = await this.untilReached(name, async () => sceneOf(await post(path, sent)));
      this.busy = this.marked = "";
      this.done(name, scene);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.busy = this.marked = "";
      this.refused(error);
    } finally {
      if (name === "choose") store("sessionStorage", PENDING, null);
    }
  }
  // The choice is marked at once; what the server says then stands.
  mark(side) {
    this.marked = this.side = side;
    store("sessionStorage", PENDING, JSON.stringify([this.about, side]));
    this.check();
  }
  async untilReached(name, ask) {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (error instanceof Refused) throw error;
        this.say(word(name === "choose" ? "not_stored" : "asked_again"));
        await pause(AGAIN);
      }
    }
  }
  done(name, scene) {
    this.show(scene);
    byId("status").focus({ preventScroll: true });
  }
  refused(error) {
    this.say(error.message);
    if (this.phase === "voted") this.timer = setTimeout(() => this.act("names"), AGAIN);
    this.check();
  }
  // A choice that was on its way when the page was left is sent once more.
  resume() {
    const [about, side] = JSON.parse(stored("sessionStorage", PENDING) ?? "[]");
    store("sessionStorage", PENDING, null);
    if (about && about === this.about && this.isOpen()) this.act("choose", side);
  }
}

// Battles of stored answers
class BankBattle extends SentBattle {
  constructor(root, first) {
    super(root);
    this.item = window.linkedItem;
    this.held = null;
    this.picker = new Picker(this);
    this.looks.onLooked = frameComes;
    setTimeout(frameComes, 4000);
    this.begin(first);
  }
  // The document has asked for the first battle.
  async begin(first) {
    try {
      this.done("next", sceneOf(await answerOf(await first)));
    } catch (error) {
      if (error instanceof Refused) this.refused(error);
      else await this.act("next");
    }
  }
  request(name, value) {
    const shown = name === "next" ? this.showHeld() : "";
    const sent = { battle: this.token, family: this.picker.family(), item: this.item, value, shown };
    return { path: `/battle/${name}`, sent };
  }
  refused(error) {
    this.hasBegun = true;
    if (error.status === 403) this.phase = "apart";
    else if (error.status === 404 || this.phase === "held") this.phase = "none";  // Next asks for one
    if (error.status === 400) this.item = "";  // no item has such a name
    super.refused(error);
  }
  done(name, scene) {
    this.item = "";
    const isNew = this.show(scene);
    if (isNew || name === "next" || name === "skip") this.goOn();
    else byId("status").focus({ preventScroll: true });
    if (this.phase === "revealed") this.lookAhead();
    if (name === "next") this.resume();
  }
  // Where a new battle begins: at the top, under an address that names no item any more.
  goOn() {
    if (location.pathname.startsWith("/item/") || location.search.includes("item=")) history.replaceState(null, "", "/");
    if (scrollY) scrollTo({ top: 0, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    byId("instruction-heading")?.focus({ preventScroll: true });
  }
  // The next battle comes ahead, and its pictures with it; the server takes it back after a minute.
  async lookAhead() {
    this.held = null;
    const of = this.about;
    const family = this.picker.family();
    const scene = await post("/battle/hold", { family }).catch(() => null);
    if (!scene?.about || of !== this.about) return;
    const item = document.createElement("template");
    item.innerHTML = scene.parts.subject;
    const images = [...item.content.querySelectorAll(".enlarge img")];
    const loaded = images.map(({ sizes, srcset, src }) => Object.assign(new Image(), { sizes, srcset, src }));
    this.held = { scene, family, loaded, at: Date.now() };
  }
  showHeld() {
    const held = this.held;
    this.held = null;
    if (!held || held.family !== this.picker.family() || Date.now() - held.at > 55_000) return "";
    this.show(held.scene);
    scrollTo(0, 0);
    return held.scene.about;
  }
}

// Picking an item, or the family of the battles to come.
class Picker {
  constructor(battle) {
    this.fold = byId("pick");
    this.asked = 0;
    this.fold.addEventListener("toggle", () => { if (this.fold.open) this.search(); });
    this.fold.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), 200);
    });
    this.fold.addEventListener("submit", (event) => event.preventDefault());
  }
  family() { return byId("family").value; }
  async search() {
    const asked = ++this.asked;
    const found = await post("/battle/search", { family: this.family(), value: byId("search").value }).catch((error) => error);
    if (asked !== this.asked) return;
    if (found instanceof Error) {
      byId("results").textContent = found instanceof Refused ? found.message : word("no_answer");
      return;
    }
    byId("family").innerHTML = found.parts.families;
    byId("results").innerHTML = found.parts.results;
  }
}

// The enlarged picture
const lightbox = (() => {
  const LONG = 2.5;  // times as long as wide
  const pictures = () => [...document.querySelectorAll(".enlarge img")].filter(isShown);
  let dialog = null, place = 0;
  const made = () => {
    dialog = document.createElement("dialog");
    dialog.id = "lightbox";
    dialog.setAttribute("aria-label", word("enlarged"));
    dialog.innerHTML = '<img alt=""><p></p><button type="button" data-step="-1"></button>'
      + '<button type="button" data-step="1"></button><button type="button" autofocus></button>';
    const names = ["previous", "following", "close"];
    dialog.querySelectorAll("button").forEach((button, number) => { button.textContent = word(names[number]); });
    // A long picture is read by scrolling: fitted into the window its text would be lost.
    const image = dialog.querySelector("img");
    image.addEventListener("load", () => {
      image.classList.toggle("tall", image.naturalHeight > LONG * image.naturalWidth);
      image.classList.toggle("wide", image.naturalWidth > LONG * image.naturalHeight);
      dialog.scrollTo(0, 0);
    });
    dialog.addEventListener("click", (event) => {
      const { step } = event.target.dataset;
      if (step) enlarge(place + Number(step));
      else if (event.target.tagName === "IMG") event.target.classList.toggle("full");
      else dialog.close();
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") enlarge(place - 1);
      if (event.key === "ArrowRight") enlarge(place + 1);
    });
    document.body.append(dialog);
  };
  const enlarge = (which) => {
    const all = pictures();
    if (!all.length) return;
    if (!dialog) made();
    place = (which + all.length) % all.length;
    const image = dialog.querySelector("img");
    image.src = all[place].dataset.original || all[place].src;
    image.alt = all[place].alt;
    image.classList.remove("full");
    dialog.querySelector("p").textContent = all.length > 1 ? word("picture_of", { number: place + 1, count: all.length }) : "";
    dialog.querySelectorAll("[data-step]").forEach((button) => { button.hidden = all.length < 2; });
    if (!dialog.open) dialog.showModal();
  };
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.(".enlarge");
    if (button) enlarge(pictures().indexOf(button.querySelector("img")));
  });
  return { enlarge, isThere: () => pictures().length > 0 };
})();

// Keys: a button or box names its own, a digit, a letter or enter; a plus before it stands for Shift.
(() => {
  // The letter typed, or, where the layout has no Latin ones, the key at its place: AZERTY's A is A, Cyrillic's ф is A.
  const letter = ({ key, code }) => (/^[a-z]$/i.test(key) ? key : /^Key([A-Z])$/.exec(code)?.[1] ?? key).toLowerCase();
  const pressed = (event) => (event.shiftKey ? "+" : "") + (/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1] ?? letter(event));
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.getModifierState("AltGraph")) return;
    const at = document.activeElement, typed = pressed(event);
    if (stored("localStorage", "keys") === "off" || document.querySelector("dialog[open]")) return;
    if (at?.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true], [role=listbox]")) return;
    if (typed === "enter" && at?.matches("button, summary, a, input")) return;
    const found = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key.split(" ").includes(typed) && isShown(one));
    if (found) {
      event.preventDefault();
      found.click();
      found.parentElement.querySelector(":scope[open] button")?.focus();
    } else if (typed === "i" && lightbox.isThere()) {
      event.preventDefault();
      lightbox.enlarge(0);
    }
  });
})();

// Gradio's own script comes once the battle can be read: until then the line is the battle's.
const frameComes = () => {
  window.gradioComes?.();
  window.gradioComes = null;
};
// Gradio's component takes the frame into its place; moveBefore keeps focus and animations.
const adopt = (element) => {
  const frame = byId("scene-frame");
  const before = frame.parentElement;
  const focused = document.activeElement;
  if (element.moveBefore) element.moveBefore(frame, null);
  else element.append(frame);
  before.remove();  // the page has Gradio's <main> now
  if (document.activeElement !== focused) focused?.focus({ preventScroll: true });
};

if (byId("scene")?.dataset.acts === "battle") new BankBattle(byId("scene"), window.firstScene);
