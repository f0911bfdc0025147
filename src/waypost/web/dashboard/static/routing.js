// The routing form: a bar with the weights of the variants. The server adds, removes and moves entries.

const form = document.getElementById("routing");

const showWeights = () => {
  const bar = form.querySelector("#weights");
  if (!bar) return;
  let used = 0;
  const shares = [];
  bar.replaceChildren();
  for (const [index, input] of [...form.querySelectorAll("[data-weight]")].entries()) {
    const weight = Math.min(Math.max(Number(input.value) || 0, 0), 100);
    const rect = document.createElementNS(bar.namespaceURI, "rect");
    const place = { x: used, width: weight, height: 1, class: index % 2 ? "odd" : "even" };
    for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value);
    bar.append(rect);
    const name = form.querySelector(`[data-variant="${input.dataset.weight}"]`).value.trim();
    shares.push(`${name || `Variant ${index + 1}`} ${weight}%`);
    used += weight;
  }
  shares.push(used > 100 ? "More than 100% together" : `Link’s own destination ${100 - used}%`);
  form.querySelector("#shares").textContent = shares.join(" · ");
};
form.addEventListener("input", (event) => {
  if (event.target.matches("[data-weight], [data-variant]")) showWeights();
});
document.addEventListener("htmx:afterSettle", showWeights);
showWeights();
