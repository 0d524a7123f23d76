// The operator's page: its link's code is taken out of the address and exchanged for a cookie before the page asks for anything.
const operatorEnter = async () => {
  const code = location.hash.match(/^#code=(.+)/)?.[1];
  if (!code) return "";
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("operator", { method: "POST", body: code }).catch(() => null);
  if (answer?.ok) return "";
  return answer ? answer.text() : "The server does not answer. Open the link again.";
};
addEventListener("hashchange", () => location.hash.startsWith("#code=") && location.reload());

// Its buttons and lines tell a hidden button of the page what to do, and about what.
const operatorOrder = (() => {
  let order = ["", ""];
  const give = (element, about) => {
    const sure = element.dataset.sure;
    if (sure && !confirm(sure)) return;
    order = [element.dataset.order, about];
    document.getElementById("operator-do").click();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#operator button[data-order]");
    if (button) give(button, button.dataset.about);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("#operator form[data-order]");
    if (!form) return;
    event.preventDefault();
    give(form, form.elements.about.value);
  });
  return () => order;
})();
