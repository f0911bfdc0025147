// The menu of pages and links, opened by Ctrl K. Links are searched by the server.

const DELAY = 150; // milliseconds
let dialog;
let timer;

export function open() {
  dialog ??= create();
  if (!dialog.open) dialog.showModal();
  const field = dialog.querySelector("input");
  field.select();
  show();
}

function create() {
  const made = Object.assign(document.createElement("dialog"), { className: "jump", ariaLabel: "Go to a page or link" });
  made.innerHTML = `<input type="search" role="combobox" aria-label="Page or link" aria-expanded="true" aria-controls="jump-list" aria-autocomplete="list" autocomplete="off" placeholder="Page or link" maxlength="255">
<ul id="jump-list" role="listbox" aria-label="Pages and links"></ul>`;
  document.body.append(made);
  made.addEventListener("input", () => {
    clearTimeout(timer);
    show();
    timer = setTimeout(findLinks, DELAY);
  });
  made.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) move(step);
    else if (event.key === "Enter") made.querySelector("[aria-selected=true]")?.click();
    else return;
    event.preventDefault();
  });
  made.addEventListener("click", ({ target }) => {
    const path = target.closest("li")?.dataset.path;
    if (path) location.assign(path);
    else if (target === made) made.close();
  });
  return made;
}

const pages = () => [...document.querySelectorAll(".menu nav a[href]:not([target])")].map((link) => ({ path: link.getAttribute("href"), name: link.textContent.trim(), title: "" }));
const actions = document.querySelector(".menu a[href='/links/import']") ? [{ path: "/links/new", name: "Create link", title: "" }] : [];
const text = () => dialog.querySelector("input").value.trim();

// Pages at once, and the links of the last answer after them.
function show(links = []) {
  const words = text().toLowerCase();
  const found = [...actions, ...pages()].filter(({ name }) => name.toLowerCase().includes(words)).slice(0, 8);
  const list = dialog.querySelector("ul");
  list.replaceChildren(...[...found, ...links].map(({ path, name, title }, index) => {
    const item = Object.assign(document.createElement("li"), { id: `jump-${index}`, role: "option", textContent: name });
    item.dataset.path = path;
    if (title) item.append(Object.assign(document.createElement("span"), { className: "small muted cut", textContent: title, dir: "auto" }));
    return item;
  }));
  select(0);
}

async function findLinks() {
  const searched = text();
  if (!searched) return;
  const response = await fetch(`/links/find?search=${encodeURIComponent(searched)}`).catch(() => null);
  if (response?.ok && text() === searched) show(await response.json());
}

function select(index) {
  const items = [...dialog.querySelectorAll("li")];
  for (const [number, item] of items.entries()) item.setAttribute("aria-selected", number === index);
  dialog.querySelector("input").setAttribute("aria-activedescendant", items[index]?.id ?? "");
  items[index]?.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const items = [...dialog.querySelectorAll("li")];
  const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (items.length) select((now + step + items.length) % items.length);
}
