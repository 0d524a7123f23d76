// The drop zones: a chosen or dropped file goes to the server as it is, and its token to the page.
// A zone's data say which field takes the token, and which button is pressed then; a file that did not come has none,
// so that the page says no more of an older one.
(() => {
  const say = (zone, text, state = "") => {
    const line = zone.querySelector("[role=status]");
    line.textContent = text;
    line.dataset.state = state;
  };
  const fieldOf = (zone) => document.querySelector(`#${zone.dataset.token} :is(textarea, input)`);
  const tell = (zone, request, token) => {
    if (zone.sending !== request) return;
    const field = fieldOf(zone);
    const button = document.getElementById(zone.dataset.press);
    if (!field || !button) { setTimeout(tell, 100, zone, request, token); return; }  // Gradio is still building the page
    field.value = token;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    setTimeout(() => button.click());
  };
  const send = (zone, file) => {
    zone.sending?.abort();  // the file that was chosen last is the one that is meant
    const request = zone.sending = new XMLHttpRequest();
    const refuse = (why) => { say(zone, why, "problem"); tell(zone, request, ""); };
    request.open("POST", `uploads?name=${encodeURIComponent(file.name)}`);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) say(zone, `${file.name}: ${Math.floor((100 * event.loaded) / event.total)}% sent`);
    });
    request.addEventListener("load", () => {
      const { status, responseText: text } = request;
      const isOurs = request.getResponseHeader("content-type")?.startsWith("text/plain");  // a page in HTML is a proxy's
      if (status !== 200) { refuse((isOurs && text) || `Refused (${status}). Choose the file again.`); return; }
      say(zone, file.name, "ready");
      tell(zone, request, text);
    });
    request.addEventListener("error", () => refuse("The server was not reached. Choose the file again."));
    say(zone, `${file.name}: sending`);
    request.send(file);
  };
  // After a lost connection Gradio loads the page again: the server still has the file.
  const keep = (zone, value) => { try { sessionStorage.setItem(zone.dataset.token, value); } catch { /* refused */ } };
  const kept = (zone) => { try { return sessionStorage.getItem(zone.dataset.token); } catch { return null; } };
  addEventListener("pagehide", () => document.querySelectorAll(".upload").forEach((zone) => {
    const { textContent: name, dataset: { state } } = zone.querySelector("[role=status]");
    keep(zone, JSON.stringify(state === "ready" ? [name, fieldOf(zone)?.value] : []));
  }));
  const again = (zone) => {
    const jobs = document.getElementById("mine");
    if (!fieldOf(zone) || (jobs && !jobs.querySelector(".mine, .empty"))) return;  // not built, or no job known yet
    zone.dataset.again = "";
    const [name, token] = JSON.parse(kept(zone) ?? "[]");
    if (!token || zone.sending || jobs?.querySelector("[data-followed]")) return;  // a job stands in place of its file
    say(zone, name, "ready");
    tell(zone, undefined, token);
  };
  if (performance.getEntriesByType("navigation")[0]?.type === "reload") {
    new MutationObserver(() => document.querySelectorAll(".upload:not([data-again])").forEach(again))
      .observe(document, { childList: true, subtree: true });
  }
  document.addEventListener("change", (event) => {
    const zone = event.target.closest?.(".upload");
    if (zone && event.target.files?.length) {
      send(zone, event.target.files[0]);
      event.target.value = "";
    }
  });
  // A small file whose text fills a field, such as a list of ids.
  document.addEventListener("change", async (event) => {
    const field = document.querySelector(`#${event.target.dataset?.fills || "none"} textarea`);
    const file = event.target.files?.[0];
    if (!field || !file) return;
    field.value = await file.slice(0, 100_000).text();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    setTimeout(() => field.dispatchEvent(new FocusEvent("blur")));
    event.target.value = "";
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-sample]");
    const zone = button?.closest(".drop").querySelector(".upload");
    if (!zone) return;
    zone.sending?.abort();
    const asked = zone.sending = new AbortController(), { sample } = button.dataset;
    say(zone, `${sample}: fetching`);
    const blob = await fetch(sample).then((answer) => answer.ok ? answer.blob() : null).catch(() => null);
    if (zone.sending !== asked) return;  // a file was chosen meanwhile
    if (blob) send(zone, new File([blob], sample));
    else {
      say(zone, "The sample did not come. Try again.", "problem");
      tell(zone, asked, "");
    }
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest?.(".upload");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(zone, event.dataTransfer.files[0]);
    });
  }
})();
