// What a route said; a page in HTML is a proxy's and no words of ours.
const operatorTold = (answer) => {
  const isOurs = !answer.headers.get("content-type")?.startsWith("text/html");
  return isOurs ? answer.text() : `Refused (${answer.status}). Try again.`;
};

// The operator's page: its link's code is taken out of the address and exchanged for a cookie before the page asks for anything.
const operatorEnter = async () => {
  const code = location.hash.match(/^#code=(.+)/)?.[1];
  if (!code) return "";
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("operator", { method: "POST", body: code }).catch(() => null);
  if (answer?.ok) return "";
  return answer ? operatorTold(answer) : "The server does not answer. Open the link again.";
};
addEventListener("hashchange", () => location.hash.startsWith("#code=") && location.reload());

// Its buttons and lines tell a hidden button of the page what to do, and about what. A form with an address posts its field
// there; what comes back stands beside its button, or above the page, which is looked at anew.
const operatorOrder = (() => {
  let order = ["", ""];
  const isSure = ({ dataset }) => !dataset.sure || confirm(dataset.sure);
  const press = (...next) => {
    order = next;
    document.getElementById("operator-do").click();
  };
  const give = (element, about) => isSure(element) && press(element.dataset.order, about);
  const post = async (form) => {
    if (!isSure(form)) return;
    const field = form.elements.body, file = field?.files?.[0], told = form.querySelector("output");
    const action = form.dataset.post + (file ? `&file=${encodeURIComponent(file.name)}` : "");
    const answer = await fetch(action, { method: "POST", body: file ?? field?.value ?? "" }).catch(() => null);
    const text = answer ? await operatorTold(answer) : "The server does not answer. Try again.";
    if (answer?.ok && !("keep" in form.dataset)) return press("look", text);
    told.textContent = text;
    told.className = answer?.ok ? "kept" : "problem";
  };
  const copy = async (button) => {
    const link = button.previousElementSibling;
    try { await navigator.clipboard.writeText(link.textContent); } catch {
      getSelection().selectAllChildren(link);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#operator button[data-order]");
    if (button) give(button, button.dataset.about);
    const link = event.target.closest?.("#operator button[data-copy]");
    if (link) copy(link);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("#operator form");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.post) post(form);
    else give(form, form.elements.about.value);
  });
  return () => order;
})();
