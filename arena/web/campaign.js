// A campaign's page: a battle, whose acts are forms, the code's Copy, and a form that is sent once. Loaded after scene.js.
(() => {
  // What the server says of the battle stands on the dock. The choice is final, and the next battle comes, after the undo.
  class FormBattle extends Battle {
    constructor(root) {
      super(root);
      const { phase, about, choice, seconds } = this.dock.dataset;
      this.hasBegun = true;
      this.phase = phase;
      this.about = about;
      this.choice = choice;
      this.seconds = Number(seconds);
      this.changedAt = performance.now();
      if (choice) this.side = choice;  // a phone shows one answer
      this.check();
      if (phase === "voted") setTimeout(() => this.finish(), this.untilNames());
    }
    // Where the line is away, once it is back.
    finish() {
      super.finish();
      byId("names").click();
      addEventListener("online", () => byId("names").click());
    }
  }
  const main = document.querySelector("main");
  const battle = main.querySelector(".dock") ? new FormBattle(main) : null;

  document.addEventListener("click", async ({ target }) => {
    if (target.id !== "copy") return;
    const code = byId("code");
    try { await navigator.clipboard.writeText(code.textContent); } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    target.textContent = target.dataset.copied;
  });
  document.addEventListener("keydown", (event) => {  // in a note or a box, Enter would press the form's first button
    if (event.key === "Enter" && event.target.matches?.(".marking input, .writing input[type=text]:not([name=link])")) event.preventDefault();
  });
  document.querySelector(".writing :is(.problem, .here)")?.scrollIntoView();
  // A form is sent once, and once more where no answer comes: the server takes nothing twice.
  const say = (text) => { if (byId("problem")) byId("problem").textContent = text; };
  let sent = false, waiting = null;
  const free = () => {
    clearTimeout(waiting);
    sent = false;
    if (!battle) return;
    battle.marked = "";
    battle.check();
  };
  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (sent) { event.preventDefault(); return; }
    sent = true;
    waiting = setTimeout(() => { free(); say(word("slow")); }, PATIENCE);
    if (battle && submitter?.name === "answer") {
      battle.marked = battle.side = submitter.value;
      setTimeout(() => battle.check());  // a button that is shut sends nothing
    }
    if (navigator.onLine || form.reached) return;
    // The browser, which may be wrong, knows of no network: its own page would come in place of this one.
    event.preventDefault();
    form.reached = await fetch("/healthz").then(() => true, () => false);
    free();
    if (form.reached) { form.requestSubmit(submitter); return; }
    say(word("no_answer"));
  });
  addEventListener("pageshow", free);
})();
// Writing: how many words a description has, and what it may still lack; files that are chosen, dropped or pasted are brought.
(() => {
  const tell = (box) => {
    const count = box.parentElement.querySelector(".count");
    if (!count) return;
    const { least, words, more, stages } = count.dataset;
    const number = box.value.match(/[\u3040-\u30ff\u3400-\u9fff]|[\p{L}\p{N}_]+/gu)?.length ?? 0, asked = stages.split("|");
    const stage = asked[Math.min(Math.floor(number / least), asked.length - 1)];
    count.textContent = `${filled(number < least ? more : words, { count: number, more: least - number })} ${stage}`;
  };
  // What is typed for a piece stays in the tab: a page that failed, was left or loaded again has it.
  const form = document.querySelector(":is(.writing, .marking) form");
  const typed = () => [...form.elements].filter(({ name, type }) => name && name !== "link" && !["hidden", "file", "submit"].includes(type));
  const store = (work) => { try { return work(sessionStorage); } catch { return null; /* a browser may refuse storage */ } };
  const piece = form?.elements.piece.value, [of, held] = JSON.parse(store((kept) => kept.getItem("typed")) ?? "[]");
  for (const [name, value, checked] of of === piece && held || []) {
    const same = (one) => one.name === name && (one.type !== "radio" || one.value === value);
    typed().filter(same).forEach((one) => Object.assign(one, { value, checked }));
  }
  form?.addEventListener("input", () => {
    const fields = typed().map(({ name, value, checked }) => [name, value, checked]);
    store((kept) => kept.setItem("typed", JSON.stringify([piece, fields])));
  });
  document.querySelectorAll(".writing textarea").forEach(tell);
  document.addEventListener("input", ({ target }) => target.matches?.(".writing textarea") && tell(target));
  const files = document.querySelector(".writing input[type=file]"), bring = document.querySelector(".bring button");
  if (!files) return;
  const take = (event, those) => {
    if (!those?.files.length) return;
    event.preventDefault();
    files.files = those.files;
    bring.click();
  };
  files.addEventListener("change", () => files.files.length && bring.click());
  addEventListener("paste", (event) => take(event, event.clipboardData));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => take(event, event.dataTransfer));
})();
