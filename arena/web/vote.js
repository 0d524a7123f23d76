// The vote: what opens its buttons, which card is in sight, the mark of the choice. Loaded after keys.js.
const stereoscopeVote = (() => {
  const byId = (id) => document.getElementById(id);
  const narrow = matchMedia("(max-width: 700px)");
  const seen = new Set(), fates = new WeakMap();  // of each picture: the file that was decoded, or failed
  const pictures = () => [...document.querySelectorAll("#item .enlarge img")];
  const sides = ["a", "b"], LINE = 60;
  let held = null, showing = null, battle = null, side = "a", told = "", pressed = null;

  // A picture counts once it is decoded: only then can anybody have seen it. Gradio may give an element another file.
  const is = (picture, fate) => fates.get(picture) === `${fate} ${picture.src}`;
  const watch = async (picture) => {
    const { src } = picture;
    if (is(picture, "decoded") || is(picture, "failed") || !picture.complete) return;
    const fate = await picture.decode().then(() => "decoded", () => "failed");
    if (picture.src === src) fates.set(picture, `${fate} ${src}`);
    check();
  };
  for (const event of ["load", "error"]) {
    document.addEventListener(event, ({ target }) => { if (target.matches?.("#item .enlarge img")) watch(target); }, true);
  }

  const show = (which) => {
    side = which;
    check();
  };

  // An answer counts once its first line stood above the bar: cards stand side by side, one below the other, or alone.
  const inSight = (which) => {
    const card = byId(`card-${which}`)?.getBoundingClientRect(), bar = byId("dock").getBoundingClientRect();
    return card?.bottom > 0 && card.top + LINE < Math.min(bar.top, innerHeight);
  };

  // What still keeps a choice from being made; the buttons and keys are shut until then.
  const waiting = () => {
    const item = document.querySelector("#item .item");
    const here = item && item.dataset.battle === battle && pictures().every((picture) => is(picture, "decoded"));
    if (!here) return "pictures";
    return seen.size < 2 ? "answers" : "";
  };

  const check = () => {
    const status = document.querySelector("#status [data-phase]"), answers = byId("answers"), dock = byId("dock");
    if (!status || !dock) return;
    if ((status.dataset.battle ?? "") !== battle) begin(status.dataset.battle ?? "");
    const stands = ["voted", "revealed"].includes(status.dataset.phase) ? battle : "";  // a page loaded again shows it
    if ((history.state?.battle ?? "") !== stands) history.replaceState({ battle: stands }, "");
    pictures().forEach(watch);
    if (answers) {
      answers.dataset.shown = side;
      sides.filter(inSight).forEach((which) => seen.add(which));
    }
    byId("item").classList.toggle("failed", pictures().some((picture) => is(picture, "failed")));
    const wait = { open: waiting, held: () => "pictures" }[status.dataset.phase]?.() ?? "";
    dock.dataset.wait = wait;
    for (const which of sides) {
      const button = byId(`choose-${which}`);
      if (button.disabled === !wait) button.disabled = wait !== "";
    }
    const said = status.outerHTML + document.querySelector("#problem .problem")?.textContent;
    if (said !== told) [told, pressed] = [said, null];
    if (!answers) return;
    answers.dataset.chosen = status.dataset.choice || pressed || "";
    answers.classList.toggle("open", status.dataset.phase === "open" && !wait && !pressed);
    for (const button of document.querySelectorAll("[data-show]")) {
      button.setAttribute("aria-pressed", String(button.dataset.show === side));
    }
  };
  const begin = (name) => {
    battle = name;
    side = "a";
    seen.clear();
    ask(false);
  };

  // The choice is marked at once; what the server says then stands.
  const press = (which) => {
    pressed = side = which;
    check();
  };
  // Gradio takes no second tap while the first has no answer: where none comes, the page loaded again goes on.
  const PATIENCE = 15_000;
  let slow = null;
  const tell = (name) => {
    byId("dock").classList.toggle("slow", Boolean(name));
    const line = name && document.querySelector("#slow [data-word]");  // a campaign's page has words of its own
    if (line) line.textContent = word(name);
  };
  const answered = () => {
    clearTimeout(slow);
    slow = pressed = null;
    delete byId("dock").dataset.sent;
    tell("");
    check();
  };
  const refused = () => {  // by a proxy or for haste: Gradio hides its word for it
    answered();
    tell("page_refused");
  };
  document.addEventListener("click", ({ target }) => {
    const sent = target.closest?.("#controls button:not(#skip), #reasons button:not(#skip-not)");
    if (sent) {
      byId("dock").dataset.sent = sent.id;
      slow ??= setTimeout(tell, PATIENCE, "page_slow");
    }
    if (target.closest?.("[data-reload]")) location.reload();
  });
  const ask = (on) => {
    const dock = byId("dock");
    if (dock.classList.toggle("asking", on)) byId("skip-judge").focus();
    else if (document.activeElement?.closest("#reasons")) byId("skip").focus();
  };

  document.addEventListener("click", ({ target }) => {
    target.closest?.("#subject .instruction-text")?.classList.toggle("open");
    const show_ = target.closest?.("[data-show]"), press_ = target.closest?.("[data-press]");
    if (show_) show(show_.dataset.show);
    if (press_) byId(press_.dataset.press).click();
    const chosen = target.closest?.("#choose-a, #choose-b");
    if (chosen && !chosen.disabled) press(chosen.id.at(-1));
    const card = target.closest?.("#answers.open .answer");
    if (!card || narrow.matches || target.closest("a, button, summary") || String(getSelection())) return;
    byId(`choose-${card.id.at(-1)}`).click();
  });

  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && byId("dock")?.classList.contains("asking")) byId("skip-not").click();
  });

  // The next battle comes ahead, and its pictures with it; the server takes it back after a minute.
  const FRESH = 55_000;
  const hold = (text) => {
    held = null;
    if (!text) return;
    const [name, parts] = JSON.parse(text);
    const item = document.createElement("template");
    item.innerHTML = parts[0];
    const images = [...item.content.querySelectorAll(".enlarge img")];
    const loaded = images.map(({ sizes, srcset, src }) => Object.assign(new Image(), { sizes, srcset, src }));
    held = { name, parts, loaded, at: Date.now() };
  };
  document.addEventListener("click", ({ target }) => {
    if (!target.closest?.("#next")) return;
    showing = held && held.name !== battle && Date.now() - held.at < FRESH ? held : null;  // came late: stands here
    held = null;
    if (showing) byId("show-held").click();
  }, true);
  const shown = () => {
    scrollTo(0, 0);
    return showing.parts;
  };
  const name = () => showing?.name ?? "";

  // A swipe turns to the other card.
  let from = null;
  document.addEventListener("touchstart", ({ target, touches }) => {
    from = target.closest?.("#answers") && touches.length === 1 ? touches[0] : null;
  }, { passive: true });
  document.addEventListener("touchend", ({ changedTouches: [to] }) => {
    if (!from || !narrow.matches) return;
    const x = to.clientX - from.clientX, y = to.clientY - from.clientY;
    if (Math.abs(x) > 60 && Math.abs(x) > 2 * Math.abs(y)) show(x < 0 ? "b" : "a");
    from = null;
  }, { passive: true });

  // The page comes in English, the same for everybody; its fixed words are put into the language here, the rest by the server.
  const WORDS = /(?:^|; )language=(\w\w)/;
  const language = (known) => {
    const asked = [document.cookie.match(WORDS)?.[1], ...navigator.languages.map((name) => name.slice(0, 2))];
    return asked.find((name) => known[name]) ?? "en";
  };
  // Gradio's own words: an act that did not reach the server is not done again by itself.
  const GRADIO = { "Error": "error", "Connection to the server was lost. Attempting reconnection...": "no_answer" };
  let spoken = null;
  const dictionary = () => {
    if (spoken) return spoken;
    const known = JSON.parse(byId("words").getAttribute("value")), chosen = language(known);
    return spoken = { chosen, english: known.en, words: known[chosen] };
  };
  const word = (name, ...values) => {
    let place = 0;
    return dictionary().words[name].replaceAll("{}", () => values[place++]);
  };
  const speak = () => {
    if (!byId("words")) return;
    const { chosen, english, words } = dictionary();
    const fresh = (parts) => [...document.querySelectorAll(`:is(${parts}):not([lang])`)].map((part) => Object.assign(part, { lang: chosen }));
    for (const part of fresh(".toast-title, .toast-message-text")) {
      const name = GRADIO[part.textContent.trim()];
      if (name) part.textContent = words[name];
    }
    if (chosen === "en") return;
    for (const part of fresh(".toast-close")) part.ariaLabel = words.toast_close;
    for (const part of fresh("[data-word]")) part.textContent = word(part.dataset.word, part.dataset.value);
    for (const part of fresh("[data-placeholder]")) {
      part.placeholder = words[part.dataset.placeholder];
      if (part.ariaLabel) part.ariaLabel = part.placeholder;
    }
    for (const part of fresh("[data-label]")) part.ariaLabel = words[part.dataset.label];
    for (const part of fresh("#dock button")) part.textContent = words[part.id.replaceAll("-", "_")];
    for (const part of fresh("[role=tab]")) {
      const name = ["tab_battle", "tab_own", "tab_chat"].find((one) => english[one] === part.textContent.trim());
      if (name) part.textContent = words[name];
    }
    fresh("#lead, #battle, #outcome, #dock");
    if (document.title === english.title) document.title = words.title;
  };
  document.addEventListener("click", ({ target }) => {
    const chosen = target.closest?.("[data-language]")?.dataset.language;
    if (!chosen) return;
    const where = location.protocol === "https:" ? "Secure; SameSite=None; Partitioned" : "SameSite=Lax";
    document.cookie = `language=${chosen}; Max-Age=31536000; Path=/; ${where}`;
    location.reload();
  });

  for (const event of ["scroll", "resize"]) addEventListener(event, check, { passive: true });
  new MutationObserver(speak).observe(document, { subtree: true, childList: true });
  new MutationObserver(check).observe(document, { subtree: true, childList: true, attributeFilter: ["data-phase", "data-battle", "data-choice", "src"] });
  return { answered, ask, hold, shown, name, refused, word };
})();
