// Every document: words and storage, the switches of the footer, the language, and who one is.
const byId = (id) => document.getElementById(id);
// A browser may refuse storage already when it is named.
const stored = (storage, name) => { try { return window[storage].getItem(name); } catch { return null; } };
const store = (storage, name, value) => { try { value === null ? window[storage].removeItem(name) : window[storage].setItem(name, value); } catch { /* refused */ } };
let texts = null;
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
const word = (name, values = {}) => {
  texts ??= JSON.parse(byId("words").textContent);
  return filled(texts[name], values);
};

// The switches in the footer, kept in the browser, and the language.
(() => {
  const apply = () => {
    document.documentElement.classList.toggle("plain-text", stored("localStorage", "plain") === "on");
    document.documentElement.classList.toggle("no-keys", stored("localStorage", "keys") === "off");
    const plain = byId("plain-switch"), keys = byId("keys-switch");
    if (plain) plain.checked = stored("localStorage", "plain") === "on";
    if (keys) keys.checked = stored("localStorage", "keys") !== "off";
  };
  document.addEventListener("change", ({ target }) => {
    if (!target.id?.endsWith("-switch")) return;
    store("localStorage", target.id.replace("-switch", ""), target.checked ? "on" : "off");
    target.blur();
    apply();
  });
  document.addEventListener("click", ({ target }) => {
    const chosen = target.closest?.("[data-language]")?.dataset.language;
    if (!chosen) return;
    const where = location.protocol === "https:" ? "Secure; SameSite=None; Partitioned" : "SameSite=Lax";
    document.cookie = `language=${chosen}; Max-Age=31536000; Path=/; ${where}`;
    location.replace(location.pathname + location.search);  // not again what a form sent
  });
  addEventListener("DOMContentLoaded", apply);
  // Gradio names the browser's language, whatever the page is in.
  const root = document.documentElement;
  const { lang } = root;
  new MutationObserver(() => { if (root.lang !== lang) root.lang = lang; }).observe(root, { attributeFilter: ["lang"] });
})();

// The line that says who one is. A login cannot run inside the frame of a Space: it opens a tab of its own, where one
// is another voter, for browsers keep the cookies of a frame apart.
customElements.define("who-am-i", class extends HTMLElement {
  async connectedCallback() {
    try {
      const framed = window.top !== window.self;
      const answer = await fetch(framed ? "/login/who?framed=yes" : "/login/who");
      if (!answer.ok) return;
      this.innerHTML = await answer.text();
      if (framed) this.querySelectorAll("a").forEach((link) => { link.target = "_blank"; });
    } catch { /* without it one votes as before */ }
  }
});
