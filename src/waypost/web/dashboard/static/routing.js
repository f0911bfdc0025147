// The routing form: a bar with the weights of the variants, and handles to drag rules. The server adds, removes and
// moves entries.

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

// A value is added with Enter or a comma, or when one of the list is chosen. Otherwise Enter saves the routing.
// What is typed meanwhile is kept.
let picked = null;
const pick = (input) => {
  if (!input.matches("[hx-trigger=pick]") || !input.value.trim()) return false;
  if (!picked) {
    picked = { id: input.id, sent: input.value, typed: "" };
    htmx.trigger(input, "pick");
  }
  return true;
};
document.addEventListener("htmx:beforeSwap", () => {
  const value = picked && document.getElementById(picked.id)?.value;
  if (value?.startsWith(picked.sent)) picked.typed = value.slice(picked.sent.length).trimStart();
});
document.addEventListener("htmx:afterSwap", () => {
  const input = picked?.typed && document.getElementById(picked.id);
  if (input) input.value = [input.value, picked.typed].filter(Boolean).join(", ");
});
document.addEventListener("htmx:afterSettle", () => {
  const input = picked && document.getElementById(picked.id);
  picked = null;
  if (input?.value.endsWith(",")) pick(input);
});
for (const failure of ["htmx:responseError", "htmx:sendError"]) document.addEventListener(failure, () => (picked = null));
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && pick(event.target)) event.preventDefault();
});
form.addEventListener("input", (event) => {
  const isChosen = !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
  if (isChosen || event.data === ",") pick(event.target);
});

const EDGE = 60; // of the window, in pixels: dragging there scrolls
const SPEED = 8; // pixels in each frame
const middle = (element) => element.getBoundingClientRect().top + element.offsetHeight / 2;

// Neighbors move past the entry: an element that is moved loses the pointer.
const arrange = (entry, y) => {
  for (;;) {
    const { previousElementSibling: before, nextElementSibling: after } = entry;
    if (before && y < middle(before)) entry.after(before);
    else if (after && y > middle(after)) entry.before(after);
    else return;
  }
};
form.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest(".handle");
  if (!handle || event.button) return;
  event.preventDefault();
  handle.setPointerCapture(event.pointerId);
  const entry = handle.closest("li");
  const place = () => [...entry.parentElement.children].indexOf(entry);
  const from = place();
  const setDragged = (isDragged) => {
    const { top } = handle.getBoundingClientRect();
    entry.classList.toggle("dragged", isDragged); // folds all entries
    scrollBy(0, handle.getBoundingClientRect().top - top);
  };
  let y = event.clientY;
  const drag = ({ clientY }) => arrange(entry, (y = clientY));
  const scroll = () => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    if (y < EDGE) scrollBy(0, -SPEED);
    else if (y > innerHeight - EDGE) scrollBy(0, SPEED);
    arrange(entry, y);
    requestAnimationFrame(scroll);
  };
  const drop = () => {
    handle.removeEventListener("pointermove", drag);
    setDragged(false);
    if (place() === from) return;
    const button = entry.querySelector("[value^='move:']:enabled");
    button.value = `move:rules.${from}.${place()}`;
    button.click();
  };
  setDragged(true);
  handle.addEventListener("pointermove", drag);
  handle.addEventListener("lostpointercapture", drop, { once: true });
  requestAnimationFrame(scroll);
});
