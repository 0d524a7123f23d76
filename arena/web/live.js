// Live battles: images and text go out, words come in. Loaded in the page's head, after keys.js.
(() => {
  const byId = (id) => document.getElementById(id);
  const MOST_IMAGES = 10, PATIENCE = 15_000;
  const { word } = stereoscopeVote;

  class Refused extends Error {}
  class Unreached extends Refused {}  // the server may have done it all the same

  // Every request goes to our own routes; what they refuse they say in plain text.
  const ask = async (path, body) => {
    let answer;
    const binary = body instanceof Blob;
    try {
      answer = await fetch(path, body === undefined ? {} : {
        method: "POST",
        headers: { "content-type": binary ? "application/octet-stream" : "application/json" },
        body: binary ? body : JSON.stringify(body),
      });
    } catch {
      throw new Unreached(word("no_answer"));
    }
    const Kind = answer.status < 500 ? Refused : Unreached;  // a proxy that gave up tells nothing of the server
    if (!answer.ok) throw new Kind((await said(answer)) || word("refused", answer.status));
    return answer.json();
  };
  // A page in HTML is a proxy's and no words of ours.
  const said = async (answer) => {
    const ours = answer.headers.get("content-type")?.startsWith("text/plain");
    return ours ? (await answer.text()).slice(0, 500) : "";
  };

  // The form: images and text.
  class Form {
    constructor(send) {
      this.images = [];   // {file, url, token, note}
      this.item = null;
      this.sending = new Set();
      this.problems = [];  // of the pictures that came together
      this.part("form").addEventListener("submit", (event) => { event.preventDefault(); send(); });
      for (const way of ["files", "photo"]) {
        this.part(way).addEventListener("change", (event) => { this.add(event.target.files); event.target.value = ""; });
      }
      this.part("choose").addEventListener("click", () => this.part("files").click());
      this.part("camera").addEventListener("click", () => this.part("photo").click());
      this.part("item").addEventListener("click", () => this.draw());
      const drop = this.part("drop");
      drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
      drop.addEventListener("dragleave", () => drop.classList.remove("over"));
      drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); this.add(event.dataTransfer.files); });
      this.part("thumbs").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) this.take(Number(button.dataset.place));
      });
      submits(this.part("text"));
    }
    part(what) { return byId(`live-${what}`); }
    say(text) { this.tell([text].filter(Boolean)); }
    tell(problems) {
      this.problems = problems;
      this.part("form-problem").textContent = problems.join("\n");
    }

    add(files) {
      this.say("");
      this.item = this.drawing = null;
      const room = MOST_IMAGES - this.images.length;
      if (files.length > room) {
        this.say(word("most", MOST_IMAGES, files.length - Math.max(room, 0)));
      }
      for (const file of [...files].slice(0, Math.max(room, 0))) {
        const image = { file, url: URL.createObjectURL(file), token: null, note: "" };
        this.images.push(image);
        this.send(image);
      }
    }
    send(image) {
      const sent = this.sent(image).finally(() => { this.sending.delete(sent); this.show(); });
      this.sending.add(sent);
      this.show();
      return sent;
    }
    async sent(image) {
      image.note = word("checking");
      try {
        const kept = await ask("live/images", image.file);
        image.token = kept.image;
        if (!this.images.includes(image)) ask(`live/images/${image.token}/discard`, {}).catch(() => {});
        image.note = kept.still ? word("still") : "";
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        image.note = "";
        if (!(error instanceof Unreached)) this.images = this.images.filter((other) => other !== image);
        this.tell([...this.problems, `${image.file.name || word("the_picture")}: ${error.message}`]);
      }
    }
    async checked() { while (this.sending.size) await Promise.all(this.sending); }
    // Pictures that did not reach the server are still here, and are sent once more.
    async complete() {
      await this.checked();
      this.images.filter(({ token }) => !token).forEach((image) => this.send(image));
      await this.checked();
      if (this.images.some(({ token }) => !token)) throw new Unreached(word("no_answer"));
    }
    take(place) {
      const [image] = this.images.splice(place, 1);
      if (image?.token) ask(`live/images/${image.token}/discard`, {}).catch(() => {});
      this.show();
      this.part("choose").focus();
    }
    async draw() {
      this.say("");
      const drawing = this.drawing = {};
      try {
        const drawn = await ask("live/item");
        if (this.drawing !== drawing) return;
        this.images.splice(0).forEach((image) => image.token && ask(`live/images/${image.token}/discard`, {}).catch(() => {}));
        this.item = drawn;
      } catch (error) { this.say(error.message); }
      this.show();
    }
    async again() {
      this.taken();
      await this.complete();
    }
    // What a battle took is gone on the server.
    taken() { for (const image of this.images) image.token = null; }
    show() {
      const list = this.part("thumbs");
      list.replaceChildren(...this.images.map((image, place) => {
        const row = document.createElement("li");
        const picture = Object.assign(document.createElement("img"), { src: image.url, alt: `${word("picture")} ${place + 1}` });
        const out = Object.assign(document.createElement("button"), { type: "button", textContent: "\u00d7", title: word("take_out") });
        out.dataset.place = place;
        out.setAttribute("aria-label", `${word("take_out")} ${place + 1}`);
        const note = Object.assign(document.createElement("small"), { textContent: image.note });
        row.append(picture, out, note);
        return row;
      }));
      this.part("chosen").innerHTML = this.item?.html ?? "";
      this.part("form").classList.toggle("with-item", this.item !== null);
      this.part("item").textContent = word(this.item ? "take_another" : "take_item");
      this.part("send").disabled = this.sending.size > 0;
    }
    wish() {
      return {
        instruction: this.part("text").value,
        images: this.images.map((image) => image.token),
        item: this.item?.item ?? "",
        keep: this.part("keep").checked,
      };
    }
    empty() { return !this.images.length && !this.item && !this.drawing && !this.part("text").value; }
    clear() {
      this.images.forEach((image) => URL.revokeObjectURL(image.url));
      this.images = [];
      this.item = this.drawing = null;
      this.part("text").value = "";
      this.say("");
      this.show();
    }
  }

  // Enter sends, Shift+Enter begins a new line.
  const submits = (text) => text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    text.form.requestSubmit();
  });

  // The server deletes own images when the names are shown; the page keeps what it has loaded.
  const keepPicture = async (picture) => {
    try {
      const answer = await fetch(picture.src);
      if (answer.ok) picture.src = URL.createObjectURL(await answer.blob());
    } catch { /* it stays as it is */ }
  };

  // Answers that no page watches are stopped: a page that is loaded again watches its battle until the tab is opened.
  const remember = (token) => { try { sessionStorage.setItem("live", token); } catch { /* a browser may refuse storage */ } };
  const remembered = () => { try { return sessionStorage.getItem("live"); } catch { return null; } };
  const meanwhile = remembered() ? new EventSource(`/live/battles/${remembered()}`) : null;
  meanwhile?.addEventListener("error", () => meanwhile.close());
  meanwhile?.addEventListener("message", ({ data }) => {
    const { kind, phase } = JSON.parse(data);
    if (kind === "scene" && phase !== "growing") meanwhile.close();
  });

  // The form, then a battle that a stream of events shows.
  class Battle {
    constructor() {
      this.root = byId("live");
      this.token = null;
      this.stream = null;
      this.timer = null;
      this.asked = this.told = 0;
      this.beginning = null;
      this.form = new Form(() => {  // Enter while one begins is no second one
        this.beginning ??= this.try(() => this.begin(), this.form).finally(() => { this.beginning = null; });
      });
      this.part("more").addEventListener("submit", (event) => { event.preventDefault(); this.try(() => this.follow()); });
      submits(this.part("follow"));
      this.on("stop", () => this.act("stop"));
      this.on("new", () => this.fresh());
      this.on("a", () => this.decide("choice", { choice: "a" }));
      this.on("b", () => this.decide("choice", { choice: "b" }));
      this.on("undo", () => this.undo());
      this.on("reveal", () => this.act("reveal"));
      this.on("again", () => this.again());
      // Below many pictures, and one below the other on a phone: one can choose when both answers have been in sight.
      this.seen = new Set();
      for (const event of ["scroll", "resize"]) addEventListener(event, () => this.look(), { passive: true });
      for (const event of ["load", "error"]) this.part("head").addEventListener(event, () => this.look(), true);
      this.resume();
    }
    part(what) { return byId(`live-${what}`); }
    on(what, handler) { this.part(what).addEventListener("click", () => this.try(handler)); }
    say(text) { this.part("problem").textContent = text; }
    path(what = "") { return `live/battles/${this.token}${what && "/"}${what}`; }

    async try(work, teller = this) {
      teller.say("");
      this.root.setAttribute("aria-busy", "true");
      try {
        await work();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        teller.say(error.message);
      } finally {
        this.root.removeAttribute("aria-busy");
      }
    }
    async begin() {
      await this.form.complete();
      this.form.part("send").disabled = true;
      try {
        const { battle } = await ask("live/battles", this.form.wish());
        this.open(battle);
      } catch (error) {
        if (error instanceof Unreached) this.form.taken();
        throw error;
      } finally {
        this.form.show();
      }
    }
    async follow() {
      const box = this.part("follow"), text = box.value;
      const { battle } = await ask(this.path("questions"), { text });
      if (box.value === text) box.value = "";
      this.open(battle);
    }
    async act(what, body = {}) {
      const token = this.token, turn = ++this.asked;
      const slow = setTimeout(() => this.say(word("slow")), PATIENCE);
      const scene = await ask(this.path(what), body).finally(() => clearTimeout(slow));
      if (this.token !== token || turn < this.told) return;  // a later answer is on the page already
      this.told = turn;
      this.say("");
      this.show(scene);
    }

    open(token, problem = "") {
      this.close();
      this.watched(token);
      this.told = ++this.asked;
      this.token = token;
      this.stream = new EventSource(this.path());
      this.stream.onmessage = (event) => this.show(JSON.parse(event.data));
      this.stream.onerror = () => this.lost(token);
      this.stream.onopen = () => this.say(problem);
    }
    // A browser comes back by itself where a connection breaks off, but not where a server or a proxy refuses it.
    async lost(token) {
      const refused = () => this.token === token && this.stream?.readyState === EventSource.CLOSED;
      this.say(word("lost"));
      if (!refused()) return;
      await new Promise((wake) => setTimeout(wake, 3000));
      if (!refused()) return;
      const answer = await fetch(this.path()).catch(() => null);
      const gone = [404, 409].includes(answer?.status) && (await said(answer));
      if (!refused()) return;
      if (!gone) {
        answer?.body?.cancel();
        this.open(token);
        return;
      }
      this.close();
      this.token = null;
      this.phase("form");
      this.form.say(gone);
    }
    watched(token) {
      meanwhile?.close();
      remember(token);
      this.seen.clear();
    }
    close() {
      this.stream?.close();
      this.stream = null;
    }
    fresh() {
      this.close();
      clearTimeout(this.timer);
      this.token = null;
      this.form.clear();
      this.part("head").replaceChildren();
      this.phase("form");
      this.form.part("text").focus();
    }
    phase(name) {
      this.root.dataset.phase = name;
      if (name !== "growing") this.root.removeAttribute("data-choosable");
    }

    show(message) {
      if (message.kind === "words") this.words(message);
      else if (message.kind === "line") this.part("status").textContent = message.status;
      else this.scene(message);
    }
    words({ sides, choose }) {
      for (const [side, { blocks, last, added }] of Object.entries(sides)) {
        const pane = this.pane(side), growing = this.growing(side);
        const low = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 40;
        if (blocks) growing.insertAdjacentHTML("beforebegin", blocks);
        if (last !== undefined) growing.textContent = last;
        else growing.append(added);
        if (low) pane.scrollTop = pane.scrollHeight;
      }
      this.root.toggleAttribute("data-choosable", Boolean(choose));
      this.part("status").textContent = choose ?? this.part("status").dataset.words;
      this.look();
    }
    pane(side) { return byId(`live-text-${side}`); }
    growing(side) { return this.pane(side).querySelector(".growing") ?? document.createElement("div"); }

    scene(scene) {
      this.token = scene.battle;
      if (scene.phase !== "growing") {
        remember("");
        this.close();
      }
      if (scene.phase !== this.root.dataset.phase && this.part("problem").textContent === word("no_answer")) this.say("");
      const first = this.part("head").dataset.of !== scene.about;
      if (first) {
        this.part("head").dataset.of = scene.about;
        this.part("head").innerHTML = scene.head;
        this.part("head").querySelectorAll("img[src^='live/']").forEach(keepPicture);
      }
      for (const [side, html] of Object.entries(scene.panes)) {
        const pane = this.pane(side);
        const place = pane.scrollTop;
        const unfolded = [...pane.querySelectorAll(".thinking")].map(({ open }) => open);
        pane.innerHTML = html;
        pane.querySelectorAll(".thinking").forEach((fold, number) => { fold.open = !first && (unfolded[number] ?? false); });
        pane.scrollTop = scene.phase === "growing" ? pane.scrollHeight : place;
      }
      this.part("status").textContent = this.part("status").dataset.words = scene.status;
      this.part("more").hidden = !scene.more;
      this.phase(scene.phase);
      if (first && scene.phase === "growing") this.root.scrollIntoView({ block: "start" });
      for (const [side, title] of Object.entries(scene.titles)) byId(`live-title-${side}`).innerHTML = title;
      this.look();
      this.part("undo").hidden = !scene.undo;
      this.part("again").hidden = this.form.images.length === 0 && !this.form.item;
      clearTimeout(this.timer);
      if (scene.phase === "voted") this.timer = setTimeout(() => this.names(scene.battle), 1000 * scene.seconds);
      if (scene.phase === "revealed" || scene.phase === "voted") this.part("status").focus({ preventScroll: true });
    }
    look() {
      // A picture that is still to come will move the answers down.
      const stays = [...this.part("head").querySelectorAll("img")].every((picture) => picture.complete);
      const inSight = ({ top, bottom }) => stays && top < 0.75 * innerHeight && bottom > 0;
      for (const side of ["a", "b"]) {
        const pane = this.pane(side);
        if (pane.textContent.trim() && inSight(pane.getBoundingClientRect())) this.seen.add(side);
      }
      const waits = this.seen.size < 2;
      this.root.toggleAttribute("data-unseen", waits);
      for (const side of ["a", "b"]) this.part(side).disabled = waits;
    }
    async undo() {
      clearTimeout(this.timer);
      await this.decide("undo");
    }
    // What was refused or got no answer: the battle is shown as it stands on the server.
    async decide(what, body) {
      const token = this.token;
      try {
        await this.act(what, body);
      } catch (error) {
        if (this.token === token) this.open(token, error.message);
        throw error;
      }
    }
    async again() {
      this.phase("form");
      await this.form.again();
    }
    async resume() {
      const { battle } = await ask("live/unfinished").catch(() => ({ battle: null }));
      if (battle && !this.token && this.form.empty()) this.open(battle);
    }
    // The names appear when the choice can no longer be taken back; if the server is away, ask again.
    async names(battle) {
      if (this.token !== battle || this.root.dataset.phase !== "voted") return;
      await this.try(() => this.act("reveal"));
      this.timer = setTimeout(() => this.names(battle), 3000);
    }
  }

  // Images pasted anywhere go to the form where it is in sight.
  let live = null;
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    const isInSight = live !== null && live.form.part("form").offsetParent !== null;
    if (files.length && isInSight) { event.preventDefault(); live.form.add(files); }
  });

  const begin = () => {
    if (byId("live") && live?.root !== byId("live")) live = new Battle();
  };
  new MutationObserver(begin).observe(document, { childList: true, subtree: true });
})();
