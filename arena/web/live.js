// Live battles: images and text go out, words come in. Loaded after scene.js.
(() => {
  const told = (error) => (error instanceof Refused ? error.message : word("no_answer"));
  const discard = ({ token }) => { if (token) post(`/live/images/${token}/discard`, {}).catch(() => {}); };

  // What stands in the place of the form's button until two models can answer.
  class Offer {
    constructor(changed) {
      this.state = this.html = "";
      this.place = byId("live-offer");
      this.changed = changed;
      this.place.addEventListener("click", (event) => {
        if (event.target.closest("button")) this.take(post("/live/models", {}));
      });
      this.look();
    }
    look() { return this.take(fetched("/live/models")); }
    async take(asked) {
      clearTimeout(this.timer);
      try {
        const { state, html } = await asked;
        if (html !== this.html) this.place.innerHTML = this.html = html;
        this.state = state;
      } catch { this.state ||= "ready"; }  // what is missing is said once it is asked
      this.place.ariaLive = this.state === "loading" ? "off" : "polite";
      if (this.state === "loading") this.timer = setTimeout(() => this.look(), 1000);
      this.changed(this.state);
    }
  }

  // The form as its visitor leaves it to log in, in this browser alone. It is gone once its tab is back, or at the next
  // visit after an hour.
  const DRAFT = "stereoscope-draft";
  const LOGIN_TIME = 3_600_000;
  const forgetDraft = () => {
    store("sessionStorage", DRAFT, null);
    store("localStorage", DRAFT, null);
    indexedDB.deleteDatabase(DRAFT);
  };
  const inDraft = (use) => new Promise((done, failed) => {
    const opening = indexedDB.open(DRAFT);
    opening.onupgradeneeded = () => opening.result.createObjectStore(DRAFT);
    opening.onerror = () => failed(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const turn = database.transaction(DRAFT, "readwrite");
      const asked = use(turn.objectStore(DRAFT));
      turn.onabort = () => failed(turn.error);
      turn.oncomplete = () => {
        database.close();
        done(asked.result);
      };
    };
  });

  // The form: images and text.
  class Form {
    constructor(most, send) {
      this.most = most;
      this.images = [];   // {file, url, token, note}
      this.item = null;
      this.sending = new Set();
      this.problems = [];  // of the pictures that came together
      this.waits = false;  // for models that are being loaded
      this.offer = new Offer((state) => {
        const begins = this.waits && state === "ready";
        if (state !== "loading") this.waits = false;
        this.show();
        if (begins) send();
      });
      this.part("form").addEventListener("submit", (event) => {
        event.preventDefault();
        if (this.offer.state === "ready") return send();
        this.waits = this.offer.state === "loading" && !this.waits;
        this.show();
      });
      this.part("offer").addEventListener("click", (event) => {
        const link = event.target.closest("a.button");
        if (!link) return;
        if (window.top !== window.self) {  // no login runs inside a frame
          link.target = "_blank";
          return;
        }
        event.preventDefault();
        this.leave().catch(() => {}).finally(() => { location.href = link.href; });
      });
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

    leave() {
      store("sessionStorage", DRAFT, "left");
      store("localStorage", DRAFT, Date.now());
      const draft = {
        text: this.part("text").value,
        keep: this.part("keep").checked,
        item: this.item,
        files: this.images.map(({ file }) => file),
      };
      return inDraft((drafts) => drafts.put(draft, 0));
    }
    async comeBack() {
      if (!stored("sessionStorage", DRAFT)) {
        const left = Number(stored("localStorage", DRAFT));
        if (left && Date.now() - left > LOGIN_TIME) forgetDraft();
        return;
      }
      const draft = await inDraft((drafts) => drafts.get(0));
      forgetDraft();
      if (!draft || !this.empty()) return;
      this.part("text").value = draft.text;
      this.part("keep").checked = draft.keep;
      this.add(draft.files);
      this.item = draft.item;
      this.show();
    }
    add(files) {
      this.say("");
      this.item = this.drawing = null;
      const room = this.most - this.images.length;
      if (files.length > room) {
        this.say(word("most", { most: this.most, left: files.length - Math.max(room, 0) }));
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
        const kept = await answerOf(await fetch("/live/images", { method: "POST", headers: { "content-type": "application/octet-stream" }, body: image.file }));
        image.token = kept.image;
        if (!this.images.includes(image)) discard(image);
        image.note = kept.still ? word("still") : "";
      } catch (error) {
        image.note = "";
        if (error instanceof Refused) this.images = this.images.filter((other) => other !== image);
        this.tell([...this.problems, `${image.file.name || word("the_picture")}: ${told(error)}`]);
      }
    }
    async checked() { while (this.sending.size) await Promise.all(this.sending); }
    // Pictures that did not reach the server are still here, and are sent once more.
    async complete() {
      await this.checked();
      this.images.filter(({ token }) => !token).forEach((image) => this.send(image));
      await this.checked();
      if (this.images.some(({ token }) => !token)) throw new TypeError("pictures are missing");
    }
    take(place) {
      const [image] = this.images.splice(place, 1);
      if (image) discard(image);
      this.show();
      this.part("choose").focus();
    }
    async draw() {
      this.say("");
      const drawing = this.drawing = {};
      try {
        const drawn = await fetched("/live/item");
        if (this.drawing !== drawing) return;
        this.images.splice(0).forEach(discard);
        this.item = drawn;
      } catch (error) { this.say(told(error)); }
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
      const { state } = this.offer;
      this.part("form").dataset.offer = state;
      this.part("send").disabled = this.sending.size > 0;
      this.part("send").textContent = word(state !== "loading" ? "send" : this.waits ? "cancel" : "wait");
      this.part("send").classList.toggle("primary", !this.waits);
      this.part("waits").hidden = !this.waits;
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

  // Enter sends, Shift+Enter begins a new line; an input method's Enter ends a word.
  const submits = (text) => text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
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

  // The form, then a battle that a stream of events shows.
  class LiveBattle extends SentBattle {
    constructor(root) {
      super(root);
      this.phase = "form";
      this.stream = null;
      this.why = "";  // it is shown as it stands on the server
      this.isChoosable = false;
      this.beginning = null;
      this.form = new Form(Number(root.dataset.most), () => {  // Enter while one begins is no second one
        this.beginning ??= this.begin().catch((error) => this.form.say(told(error))).finally(() => { this.beginning = null; });
      });
      byId("live-more").addEventListener("submit", (event) => {
        event.preventDefault();
        this.follow().catch((error) => this.say(told(error)));
      });
      submits(byId("live-follow"));
      this.look();
    }
    isOpen() { return this.phase === "open" || (this.phase === "growing" && this.isChoosable); }
    request(name, value) { return { path: `/live/battles/${this.token}/${name}`, sent: { value } }; }
    act(name, value) {
      if (this.busy) return;
      if (name === "new") return this.fresh();
      if (name === "again") return this.again();
      return super.act(name, value);
    }
    // What was refused: the battle is shown as it stands on the server.
    refused(error) {
      this.watch(this.token, error.message);
    }

    // An unfinished battle goes on.
    async look() {
      frameComes();
      await this.form.comeBack().catch(() => {});
      const { battle } = await fetched("/live/unfinished").catch(() => ({ battle: null }));
      if (battle && !this.token && this.form.empty()) this.watch(battle);
    }
    async begin() {
      await this.form.complete();
      this.form.part("send").disabled = true;
      try {
        const { battle } = await post("/live/battles", this.form.wish());
        this.watch(battle);
      } catch (error) {
        if (!(error instanceof Refused)) this.form.taken();  // the server may have taken them all the same
        throw error;
      } finally {
        this.form.show();
      }
    }
    async follow() {
      if (this.busy) return;
      this.busy = "questions";
      const box = byId("live-follow");
      const text = box.value;
      try {
        const { battle } = await post(`/live/battles/${this.token}/questions`, { text });
        if (box.value === text) box.value = "";
        this.looks.seen.clear();
        this.watch(battle);
      } finally {
        this.busy = "";
        this.check();
      }
    }
    async again() {
      this.to("form");
      this.form.taken();
      await this.form.complete().catch((error) => this.form.say(told(error)));
    }
    fresh() {
      this.close();
      clearTimeout(this.timer);
      this.token = this.about = "";
      this.form.clear();
      this.to("form");
      this.form.part("text").focus();
    }
    to(phase) {
      if (phase === "form") this.form.offer.look();
      this.phase = phase;
      this.check();
    }

    watch(token, problem = "") {
      this.close();
      this.token = token;
      this.why = problem;
      this.stream = new EventSource(`/live/battles/${token}`);
      this.stream.onmessage = ({ data }) => this.take(JSON.parse(data));
      this.stream.onerror = () => this.lost(token);
      this.stream.onopen = () => this.say(problem);
    }
    close() {
      this.stream?.close();
      this.stream = null;
    }
    // A browser comes back by itself where a connection breaks off, but not where a server or a proxy refuses it.
    async lost(token) {
      const isRefused = () => this.token === token && this.stream?.readyState === EventSource.CLOSED;
      this.say(word("lost"));
      if (!isRefused()) return;
      await pause(AGAIN);
      if (!isRefused()) return;
      const answer = await fetch(`/live/battles/${token}`).catch(() => null);
      const gone = [404, 409].includes(answer?.status) ? await answer.text() : "";
      if (!isRefused()) return;
      if (gone) {
        this.close();
        this.token = "";
        this.to("form");
        this.form.say(gone);
        return;
      }
      answer?.body?.cancel();
      this.watch(token);
    }

    take(message) {
      if (message.kind === "words") this.grow(message);
      else if (message.kind === "line") byId("status").textContent = message.status;
      else this.show({ ...message, problem: this.why });
    }
    // The newest answers grow by words, and by whole blocks once these are complete.
    grow({ sides, choose }) {
      for (const [side, { blocks, last, added }] of Object.entries(sides)) {
        const growing = this.part(side).querySelector(".growing");
        if (!growing) continue;
        if (blocks) growing.insertAdjacentHTML("beforebegin", blocks);
        if (last !== undefined) growing.textContent = last;
        else growing.append(added);
      }
      this.isChoosable = Boolean(choose);
      byId("status").textContent = choose ?? this.shown.status;
      this.check();
    }
    show(scene) {
      const thinking = () => [...this.root.querySelectorAll(".answers .thinking")];
      const unfolded = thinking().map(({ open }) => open);
      this.isChoosable = false;
      if (scene.phase === "growing") this.shown.a = this.shown.b = null;  // what grew since is no part
      const isNew = super.show(scene);
      if (!isNew) thinking().forEach((fold, number) => { fold.open = unfolded[number] ?? false; });
      if (this.phase !== "growing") this.close();
      byId("live-more").hidden = !scene.can_go_on;
      byId("again").hidden = this.phase !== "void" || (this.form.images.length === 0 && !this.form.item);
      if (!isNew) return isNew;
      this.part("subject").querySelectorAll("img[src*='live/images/']").forEach(keepPicture);
      if (this.phase === "growing") this.root.scrollIntoView({ block: "start" });
      this.resume();
      return isNew;
    }
  }

  const root = byId("scene");
  if (root?.dataset.acts !== "live") return;
  const battle = new LiveBattle(root);
  // Images pasted anywhere go to the form where it is in sight.
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length || !isShown(byId("live-form"))) return;
    event.preventDefault();
    battle.form.add(files);
  });
})();
