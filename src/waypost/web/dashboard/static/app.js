// For every page: copy buttons, confirmation dialogs, forms that are sent once and keep their input, and errors of requests.

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
      toast("Can't copy in this browser. Select the text and copy it."); // as in all browsers over plain HTTP
    }
  }
  const opener = event.target.closest("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (dialog) {
    event.preventDefault(); // without scripts, the opener is a link to a page with the same question
    dialog.showModal();
  }
  const open = event.target.closest("[data-close]") && event.target.closest("dialog[open]");
  if (open) {
    event.preventDefault(); // likewise a link back
    open.close();
  }
});

// Send a form once: ignore further clicks until the response arrives.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  keep(form);
  if (!form.matches("[hx-post], [hx-get], [data-again]")) form.ariaBusy = "true"; // a download does not replace the page
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Redirect")) keep_all(); // to the sign-in page
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy=true]")) form.ariaBusy = null;
});

// Input survives an expired session: it is restored with the page until the form succeeds.
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

// A failed request shows one line until another request succeeds. The page itself does not change.
const alertLine = document.getElementById("request-error");
const describe = (xhr) => {
  const wait = Number(xhr.getResponseHeader("Retry-After"));
  if (xhr.status === 429) return `Too many requests. Try again ${wait ? `in ${wait} second${wait === 1 ? "" : "s"}` : "in a minute"}. Your input is kept.`;
  if (xhr.status >= 500) return "Something went wrong on our side. Try again in a moment. Your input is kept.";
  if (xhr.status === 404) return "This no longer exists. Reload the page.";
  return "The request was refused. Reload the page and try again.";
};
let later = new WeakSet(); // requests started since then: only their success clears the line
const fail = (text) => {
  if (!alertLine) return;
  keep_all();
  later = new WeakSet();
  if (alertLine.textContent !== text) alertLine.textContent = text;
};
document.addEventListener("htmx:responseError", (event) => fail(describe(event.detail.xhr)));
for (const lost of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(lost, () => fail("No response. Check your connection and try again. Your input is kept."));
}
document.addEventListener("htmx:beforeSend", (event) => later.add(event.detail.xhr));
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!detail.successful || !alertLine?.textContent || !later.has(detail.xhr)) return;
  alertLine.textContent = "";
  if (!detail.xhr.getResponseHeader("HX-Redirect")) forget_all(); // otherwise old input would replace newer input
});

// On phones the menu starts closed, and Escape closes it.
const menu = document.querySelector("details.menu");
const isNarrow = matchMedia("(max-width: 48rem)");
if (menu && isNarrow.matches) menu.open = false;
menu?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !isNarrow.matches) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
