// What every page can do: copy, ask before something is deleted, send a form once, keep what was typed, and say what failed.

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
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      toast("Copied");
    } catch {
      toast("This browser does not let us copy: select the text instead"); // as all do over plain HTTP
    }
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
  if (event.detail.xhr.getResponseHeader("HX-Redirect")) keep_all(); // to sign in again
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

function keep_all() {
  for (const form of document.querySelectorAll("form[data-keep]")) keep(form);
}

function forget_all() {
  for (const form of document.querySelectorAll("form[data-keep]")) sessionStorage.removeItem(place(form));
}

for (const done of document.querySelectorAll("[data-done]")) {
  for (const form of done.dataset.done.split(" ")) sessionStorage.removeItem(`typed:${form}`);
}
for (const form of document.querySelectorAll("form[data-keep]")) {
  const typed = sessionStorage.getItem(place(form));
  sessionStorage.removeItem(place(form));
  if (!typed || form.querySelector(".error")) continue;
  const values = Map.groupBy(JSON.parse(typed), ([name]) => name);
  for (const field of form.elements) {
    const known = (values.get(field.name) ?? []).map(([, value]) => value);
    if (/^(checkbox|radio)$/.test(field.type)) field.checked = known.includes(field.value);
    else if (known.length && !/^(hidden|submit|file)$/.test(field.type)) field.value = known[0];
  }
}

// What could not be fetched or sent is told in one line until something comes through again. The page stays as it is.
const trouble = document.getElementById("trouble");
const told = (xhr) => {
  const wait = Number(xhr.getResponseHeader("Retry-After"));
  if (xhr.status === 429) return `That was a lot at once. Try again ${wait ? `in ${wait} second${wait === 1 ? "" : "s"}` : "in a minute"}: what you typed is still here.`;
  if (xhr.status >= 500) return "Something went wrong on our side. Try again in a moment: what you typed is still here.";
  if (xhr.status === 404) return "This is not there any more. Load the page anew to see what is.";
  return "That was refused. Load the page anew and try again.";
};
let later = new WeakSet(); // requests begun since: one that was under way already says nothing
const fail = (text) => {
  if (!trouble) return;
  keep_all();
  later = new WeakSet();
  if (trouble.textContent !== text) trouble.textContent = text;
};
document.addEventListener("htmx:responseError", (event) => fail(told(event.detail.xhr)));
for (const lost of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(lost, () => fail("No answer came. Check your connection and try again: what you typed is still here."));
}
document.addEventListener("htmx:beforeSend", (event) => later.add(event.detail.xhr));
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!detail.successful || !trouble?.textContent || !later.has(detail.xhr)) return;
  trouble.textContent = "";
  if (!detail.xhr.getResponseHeader("HX-Redirect")) forget_all(); // else it would come back over what is new by then
});

// On a phone the menu begins closed, and Escape closes it.
const menu = document.querySelector("details.menu");
const isNarrow = matchMedia("(max-width: 48rem)");
if (menu && isNarrow.matches) menu.open = false;
menu?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !isNarrow.matches) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
