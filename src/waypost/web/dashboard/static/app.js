// What every page can do: copy, ask before something is deleted, send a form once, and keep what was typed.

const toast = (text) => {
  const place = document.getElementById("toast");
  if (!place) return;
  place.textContent = text;
  place.classList.add("shown");
  setTimeout(() => place.classList.remove("shown"), 2000);
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) {
    await navigator.clipboard.writeText(button.dataset.copy);
    toast("Copied");
  }
  const opener = event.target.closest("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (dialog) {
    event.preventDefault(); // the opener can be a link to a page that asks the same where no script runs
    dialog.showModal();
  }
  if (event.target.closest("[data-close]")) event.target.closest("dialog")?.close();
});

// A form is sent once: a second click while the first is under way does nothing.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  keep(form);
  if (!form.hasAttribute("hx-post")) form.ariaBusy = "true";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy=true]")) form.ariaBusy = null;
});

// What was typed survives a session that has ended meanwhile: it comes back with the page, until the form succeeds.
const place = (form) => `typed:${location.pathname}:${form.id}`;

function keep(form) {
  if (!form.matches("form[data-keep]")) return;
  const typed = [...new FormData(form)].filter(([, value]) => typeof value === "string");
  sessionStorage.setItem(place(form), JSON.stringify(typed));
}

for (const form of document.querySelectorAll("form[data-keep]")) {
  const typed = sessionStorage.getItem(place(form));
  sessionStorage.removeItem(place(form));
  if (!typed || form.querySelector(".fault")) continue;
  for (const [name, value] of JSON.parse(typed)) {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLInputElement && /checkbox|radio/.test(field.type)) field.checked = field.value === value;
    else if (field && "value" in field && field.type !== "hidden") field.value = value;
  }
}
for (const done of document.querySelectorAll("[data-done]")) sessionStorage.removeItem(`typed:${done.dataset.done}`);

// On a phone the menu begins closed.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(max-width: 48rem)").matches) menu.open = false;
