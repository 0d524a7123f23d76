// The operator's page: its buttons and lines tell a hidden button of the page what to do, and about what.
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
