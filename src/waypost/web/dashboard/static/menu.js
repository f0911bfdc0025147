// The menu of pages and links, opened by Ctrl K. Links are searched by the server.

const DELAY = 150; // milliseconds
let dialog;
let timer;
let links = []; // of the last answer
let chosen; // the path that an arrow key selected
let isSearching = false;
let isFailed = false;
let isEntered = false; // Enter waits for the answer

export function open() {
  dialog ??= create();
  if (!dialog.open) dialog.showModal();
  const field = dialog.querySelector("input");
  field.select();
  chosen = undefined;
  show();
}

function create() {
  const made = Object.assign(document.createElement("dialog"), { className: "jump", ariaLabel: "Go to a page or link" });
  made.innerHTML = `<input type="search" role="combobox" aria-label="Page or link" aria-controls="jump-list" aria-autocomplete="list" autocomplete="off" placeholder="Page or link" maxlength="255">
<ul id="jump-list" role="listbox" aria-label="Pages and links"></ul>
<p class="small muted" role="status"></p>`;
  document.body.append(made);
  made.addEventListener("input", () => {
    stop();
    isFailed = false;
    isSearching = Boolean(text());
    if (isSearching) timer = setTimeout(findLinks, DELAY);
    else links = [];
    show();
  });
  made.addEventListener("close", stop);
  made.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) move(step);
    else if (event.key === "Enter") enter();
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

const pages = JSON.parse(document.querySelector(".menu").dataset.pages);
const actions = document.querySelector(".menu a[href='/links/import']") ? [{ path: "/links/new", name: "Create link", title: "", words: "" }] : [];
const text = () => dialog.querySelector("input").value.trim();

// Pages at once, and after them the links of the last answer.
function show() {
  const words = text().toLowerCase();
  const found = [...actions, ...pages].filter((page) => `${page.name} ${page.title} ${page.words}`.toLowerCase().includes(words)).slice(0, 8);
  const options = [...found, ...links];
  dialog.querySelector("ul").replaceChildren(...options.map(({ path, name, title }, index) => {
    const item = Object.assign(document.createElement("li"), { id: `jump-${index}`, role: "option", textContent: name });
    item.dataset.path = path;
    item.toggleAttribute("data-link", index >= found.length);
    if (title) item.append(Object.assign(document.createElement("span"), { className: "small muted cut", textContent: title, dir: "auto" }));
    return item;
  }));
  dialog.querySelector("input").ariaExpanded = String(options.length > 0);
  const missing = options.length || isSearching ? "" : "Nothing found";
  dialog.querySelector("[role=status]").textContent = isFailed ? "Links could not be searched" : missing;
  select(Math.max(0, options.findIndex(({ path }) => path === chosen)));
}

async function findLinks() {
  const searched = text();
  const found = await fetch(`/links/find?search=${encodeURIComponent(searched)}`).then((response) => (response.ok ? response.json() : null)).catch(() => null);
  if (text() !== searched) return;
  [links, isSearching, isFailed] = [found ?? [], false, !found];
  show();
  if (isEntered) enter();
}

// A page, or what an arrow key selected, at once; a link of an earlier answer is not what was typed.
function enter() {
  const item = dialog.querySelector("[aria-selected=true]");
  isEntered = isSearching && (!item || (item.hasAttribute("data-link") && item.dataset.path !== chosen));
  if (!isEntered) item?.click();
}

function stop() {
  clearTimeout(timer);
  isSearching = isEntered = false;
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
  if (!items.length) return;
  isEntered = false;
  const next = (now + step + items.length) % items.length;
  chosen = items[next].dataset.path;
  select(next);
}
