// Keys, the enlarged picture, the page's two switches, and where the focus goes. Loaded in the page's head.
const stereoscope = (() => {
  const byId = (id) => document.getElementById(id);
  const shown = (element) => element && !element.disabled && element.offsetParent !== null;
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* a browser may refuse storage */ } };
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

  // Focus
  const focus = (id) => requestAnimationFrame(() => {
    const element = byId(id);
    if (element) { if (element.tabIndex < 0) element.tabIndex = -1; element.focus({ preventScroll: true }); }
  });
  const focusNew = () => requestAnimationFrame(() => {
    const heading = byId("instruction-heading");
    const address = new URL(location.href);
    address.pathname = address.pathname.replace(/^\/item\/.*/, "/");
    address.searchParams.delete("item");
    if (address.href !== location.href) history.replaceState(history.state, "", address);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (byId("choose-a")) scrollTo({ top: 0, behavior: still ? "auto" : "smooth" });
    const asking = byId("dock")?.classList.contains("asking");  // a quick voter is at the reasons to skip already
    if (heading && !asking) heading.focus({ preventScroll: true });
  });

  // The enlarged picture
  const pictures = () => [...document.querySelectorAll(".enlarge img")].filter(shown);
  const LONG = 2.5;  // times as long as wide
  let place = 0;
  const lightbox = () => {
    let dialog = byId("lightbox");
    if (dialog) return dialog;
    dialog = document.createElement("dialog");
    dialog.id = "lightbox";
    const { word } = stereoscopeVote;
    dialog.setAttribute("aria-label", word("enlarged"));
    dialog.innerHTML = '<img alt=""><p></p><button type="button" data-step="-1"></button>'
      + '<button type="button" data-step="1"></button><button type="button" autofocus></button>';
    ["previous", "following", "close"].forEach((name, place) => { dialog.querySelectorAll("button")[place].textContent = word(name); });
    // A long picture is read by scrolling: fitted into the window its text would be lost.
    const image = dialog.querySelector("img");
    image.addEventListener("load", () => {
      image.classList.toggle("tall", image.naturalHeight > LONG * image.naturalWidth);
      image.classList.toggle("wide", image.naturalWidth > LONG * image.naturalHeight);
      dialog.scrollTo(0, 0);
    });
    dialog.addEventListener("click", (event) => {
      const step = event.target.dataset?.step;
      if (step) enlarge(place + Number(step));
      else if (event.target.tagName === "IMG") event.target.classList.toggle("full");
      else dialog.close();
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") enlarge(place - 1);
      if (event.key === "ArrowRight") enlarge(place + 1);
    });
    document.body.append(dialog);
    return dialog;
  };
  const enlarge = (which) => {
    const all = pictures();
    if (!all.length) return;
    place = (which + all.length) % all.length;
    const dialog = lightbox();
    const image = dialog.querySelector("img");
    image.src = all[place].dataset.original || all[place].src;
    image.alt = all[place].alt;
    image.classList.remove("full");
    dialog.querySelector("p").textContent = all.length > 1 ? stereoscopeVote.word("picture_of", place + 1, all.length) : "";
    dialog.querySelectorAll("[data-step]").forEach((button) => { button.hidden = all.length < 2; });
    if (!dialog.open) dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".enlarge");
    if (button) enlarge(pictures().indexOf(button.querySelector("img")));
  });

  // Keys
  const buttons = {
    a: ["choose-a", "live-a"], b: ["choose-b", "live-b"], n: ["reveal", "next", "live-reveal", "live-again", "live-new"],
    s: ["skip", "live-stop"], z: ["undo", "live-undo"],
  };
  const resting = () => document.querySelector("dialog[open]")
    || document.activeElement?.closest("input, textarea, select, [contenteditable=true], [role=listbox], [role=dialog]");
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (kept("keys") === "off" || resting()) return;
    const key = event.key.toLowerCase();
    if (key === "i" && pictures().length && !document.querySelector("[data-key=i]")) { event.preventDefault(); enlarge(0); }
    const button = buttons[key]?.map(byId).find(shown);
    if (button) { event.preventDefault(); button.click(); }
  });

  // The names appear when the choice can no longer be taken back; if the server is away, ask again.
  // Gradio writes a status into the element of the one before it, so only the phase tells that a choice is over.
  let asking = null;
  const ask = () => {
    const voted = document.querySelector('#status [data-phase="voted"]');
    if (!voted === !asking) return;
    clearTimeout(asking);
    const reveal = () => {
      if (byId("dock").dataset.sent !== "undo") byId("reveal").click();  // what is on its way may take the choice back
      asking = setTimeout(reveal, 3000);
    };
    const read = document.querySelector("#problem .problem") ? 3 : 0;
    asking = voted && setTimeout(reveal, 1000 * Math.max(voted.dataset.seconds, read));
  };

  // Switches, kept in the browser
  const apply = () => {
    document.documentElement.classList.toggle("plain-text", kept("plain") === "on");
    document.documentElement.classList.toggle("no-keys", kept("keys") === "off");
    const plain = byId("plain-switch"), keys = byId("keys-switch");
    if (plain) plain.checked = kept("plain") === "on";
    if (keys) keys.checked = kept("keys") !== "off";
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "plain-switch") keep("plain", event.target.checked ? "on" : "off");
    if (event.target.id === "keys-switch") keep("keys", event.target.checked ? "on" : "off");
    if (event.target.id.endsWith("-switch")) { event.target.blur(); apply(); }
  });

  // What the server says is read out.
  const label = () => {
    const status = byId("status");
    if (!status || status.getAttribute("role") === "status") return;
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    status.tabIndex = -1;
    byId("problem").setAttribute("role", "alert");
    apply();
  };
  new MutationObserver(ask).observe(document, { subtree: true, childList: true, attributeFilter: ["data-phase"] });
  new MutationObserver(label).observe(document, { childList: true, subtree: true });
  return { focus, focusNew };
})();
