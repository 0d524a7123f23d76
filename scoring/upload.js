// The drop zone of "Score outputs": a chosen or dropped file goes to the server as it is, and its token to the page.
(() => {
  const byId = (id) => document.getElementById(id);
  const say = (text, state = "") => {
    const line = byId("drop-state");
    if (line) { line.textContent = text; line.dataset.state = state; }
  };
  const tell = (token) => {
    const field = document.querySelector("#upload-token textarea, #upload-token input");
    field.value = token;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    setTimeout(() => byId("arrived").click());
  };
  const send = (file) => {
    const request = new XMLHttpRequest();
    request.open("POST", `uploads?name=${encodeURIComponent(file.name)}`);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) say(`${file.name}: ${Math.floor((100 * event.loaded) / event.total)}% sent`);
    });
    request.addEventListener("load", () => {
      if (request.status !== 200) { say(request.responseText || `Refused (${request.status})`, "problem"); return; }
      say(file.name, "ready");
      tell(request.responseText);
    });
    request.addEventListener("error", () => say("The server was not reached. Choose the file again.", "problem"));
    say(`${file.name}: sending`);
    request.send(file);
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "drop-file" && event.target.files.length) {
      send(event.target.files[0]);
      event.target.value = "";
    }
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest?.("#drop");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }
})();
