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
  const open = event.target.closest("[data-close]") && event.target.closest("dialog[open]");
  if (open) {
    event.preventDefault(); // as above: it can be a link that leads back
    open.close();
  }
});

// A form is sent once: a second click while the first is under way does nothing.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  keep(form);
  if (!form.matches("[hx-post], [hx-get], [data-again]")) form.ariaBusy = "true"; // a download leaves the page as it is
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) return; // to sign in again
  for (const form of document.querySelectorAll("form[data-keep]")) keep(form);
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

for (const done of document.querySelectorAll("[data-done]")) {
  for (const form of done.dataset.done.split(" ")) sessionStorage.removeItem(`typed:${form}`);
}
for (const form of document.querySelectorAll("form[data-keep]")) {
  const typed = sessionStorage.getItem(place(form));
  sessionStorage.removeItem(place(form));
  if (!typed || form.querySelector(".fault")) continue;
  const values = Map.groupBy(JSON.parse(typed), ([name]) => name);
  for (const field of form.elements) {
    const known = (values.get(field.name) ?? []).map(([, value]) => value);
    if (/^(checkbox|radio)$/.test(field.type)) field.checked = known.includes(field.value);
    else if (known.length && !/^(hidden|submit|file)$/.test(field.type)) field.value = known[0];
  }
}

// On a phone the menu begins closed.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(max-width: 48rem)").matches) menu.open = false;
