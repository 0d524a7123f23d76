// A running job's button: the browser tells when the job has ended, while the page is open.
(() => {
  if (!("Notification" in window)) return;
  const RUNNING = ["waiting", "judging"];
  let asked = false;
  let before = "";  // the state of the job that is shown

  const tell = (text) => {
    document.title = text;
    try { new Notification("Stereoscope", { body: text }); } catch { /* a phone's browser may know the name alone */ }
  };
  const look = () => {
    const job = document.querySelector(".progress");
    const state = job?.dataset.state ?? "";
    const button = job?.querySelector("[data-notify]");
    if (button) {
      button.hidden = Notification.permission === "denied";
      button.disabled = asked;
      const text = asked ? button.dataset.asked : button.dataset.notify;
      if (button.textContent !== text) button.textContent = text;
    }
    if (asked && RUNNING.includes(before) && state && !RUNNING.includes(state)) {
      asked = false;
      tell(job.querySelector("p").innerText);
    }
    before = state;
  };
  document.addEventListener("click", async ({ target }) => {
    if (!target.closest?.("[data-notify]")) return;
    asked = await Notification.requestPermission() === "granted";
    look();
  });
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})();
