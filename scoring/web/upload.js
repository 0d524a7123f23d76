// The drop zones: chosen or dropped files go to the server as they are, one after the other, and their token to the page.
// A zone's data say which field takes the token, and which button is pressed then; files that did not all come have
// none, so that the page says no more of an older one.
(() => {
  const say = (zone, text, state = "") => {
    const line = zone.querySelector("[role=status]");
    line.textContent = text;
    line.dataset.state = state;
  };
  const fieldOf = (zone) => document.querySelector(`#${zone.dataset.token} :is(textarea, input)`);
  const tell = (zone, sending, token) => {
    if (zone.sending !== sending) return;
    const field = fieldOf(zone);
    const button = document.getElementById(zone.dataset.press);
    if (!field || !button) { setTimeout(tell, 100, zone, sending, token); return; }  // Gradio is still building the page
    field.value = token;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    setTimeout(() => button.click());
  };
  // The token of a file that has come beside those of an earlier token.
  const sent = (file, beside, signal, progress) => new Promise((resolve, refuse) => {
    const request = new XMLHttpRequest();
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", `uploads?${new URLSearchParams({ name: file.name, beside })}`);
    request.upload.addEventListener("progress", ({ loaded }) => progress(loaded));
    request.addEventListener("load", () => {
      const { status, responseText: text } = request;
      const isOurs = request.getResponseHeader("content-type")?.startsWith("text/plain");  // a page in HTML is a proxy's
      if (status === 200) resolve(text);
      else refuse((isOurs && text) || word("upload_refused", { status }));
    });
    request.addEventListener("error", () => refuse(word("upload_lost")));
    request.send(file);
  });
  const send = async (zone, files) => {
    zone.sending?.abort();  // the files that were chosen last are those that are meant
    const sending = zone.sending = new AbortController();
    const names = files.map(({ name }) => name).join(", ");
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let token = "", done = 0;
    say(zone, word("sending", { names }));
    try {
      for (const file of [...files].sort((one, other) => one.size - other.size)) {  // a refusal comes early
        token = await sent(file, token, sending.signal, (loaded) =>
          say(zone, word("sent", { names, percent: Math.min(100, Math.floor((100 * (done + loaded)) / (total || 1))) })));
        done += file.size;
      }
      say(zone, names, "ready");
    } catch (why) {
      token = "";
      say(zone, why, "problem");
    }
    tell(zone, sending, token);
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
      send(zone, [...event.target.files]);
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
    say(zone, word("fetching", { name: sample }));
    const blob = await fetch(sample).then((answer) => answer.ok ? answer.blob() : null).catch(() => null);
    if (zone.sending !== asked) return;  // a file was chosen meanwhile
    if (blob) send(zone, [new File([blob], sample)]);
    else {
      say(zone, word("sample_lost"), "problem");
      tell(zone, asked, "");
    }
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest?.(".upload");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(zone, [...event.dataTransfer.files]);
    });
  }
})();
