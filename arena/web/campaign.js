// A campaign's page: the reasons to skip, the code's Copy, and a form that is sent once. Loaded after keys.js and vote.js.
(() => {
  const byId = (id) => document.getElementById(id);
  byId("skip")?.addEventListener("click", () => stereoscopeVote.ask(true));
  byId("skip-not")?.addEventListener("click", () => stereoscopeVote.ask(false));
  byId("copy")?.addEventListener("click", async ({ target }) => {
    const code = byId("code");
    try { await navigator.clipboard.writeText(code.textContent); } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    target.textContent = target.dataset.copied;
  });
  document.body.append("");  // the other scripts wait for a change; this page came whole
  const { choice } = document.querySelector("#status [data-phase]")?.dataset ?? {};
  if (choice) setTimeout(() => document.querySelector(`[data-show="${choice}"]`).click());  // a phone shows one answer
  let sent = false;
  document.addEventListener("submit", (event) => { if (sent) event.preventDefault(); sent = true; });
  addEventListener("pageshow", () => { sent = false; });
})();
