// On every page: copy buttons, passwords to see, confirmation dialogs, forms that are sent once and keep their input, and failed requests.

const toast = (text) => {
  const element = document.getElementById("toast");
  if (!element) return;
  element.textContent = text;
  element.classList.add("shown");
  setTimeout(() => element.classList.remove("shown"), 2000);
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      toast("Copied");
    } catch {
      toast("This browser cannot copy. Select the text and copy it."); // as in all browsers over plain HTTP
    }
  }
  const opener = event.target.closest("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (dialog) {
    event.preventDefault(); // without scripts, the opener is a link to a page with the same question
    dialog.showModal();
  }
  const { reveal } = event.target.closest("[data-reveal]")?.dataset ?? {};
  if (reveal) {
    const password = document.getElementById(reveal);
    password.type = password.type === "password" ? "text" : "password";
    event.target.ariaPressed = String(password.type === "text");
  }
  const openDialog = event.target.closest("[data-close]") && event.target.closest("dialog[open]");
  if (openDialog) {
    event.preventDefault(); // without scripts, it is a link back
    openDialog.close();
  }
});

// A form that creates something copies it. Browsers copy only right after a key or a click, so what will be copied is
// promised before the answer is here.
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (!target.matches("[data-copies]")) return;
  const text = new Promise((resolve, reject) => {
    document.addEventListener("htmx:afterSettle", () => {
      const created = document.querySelector("[data-copied]");
      created?.focus();
      if (created) resolve(new Blob([created.dataset.copied], { type: "text/plain" }));
      else reject(new Error("nothing was created"));
    }, { once: true });
  });
  text.catch(() => {});
  if (!navigator.clipboard?.write) return; // as in all browsers over plain HTTP
  navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]).then(() => toast("Copied"), () => {});
});

// Send a form once: ignore further clicks until the response arrives.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.ariaBusy === "true") {
    event.preventDefault();
    return;
  }
  saveForm(form);
  if (!form.matches("[hx-post], [hx-get], [data-again]")) form.ariaBusy = "true"; // a download does not replace the page
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Redirect")) saveAllForms(); // to the sign-in page
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy=true]")) form.ariaBusy = null;
});

// Input survives an expired session: it is restored with the page until the form succeeds. A query, such as that of a
// page shared with us, asks for other content.
const storageKey = (form) => `typed:${location.pathname}:${form.id}`;

// A password that is shown has the type of a text. Of several fields with one name, none is private.
const isPrivate = (field) => field.matches?.("[data-private], [type=password]");

function saveForm(form) {
  if (!form.matches("form[data-keep]")) return;
  const typed = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !isPrivate(form.elements.namedItem(name)));
  sessionStorage.setItem(storageKey(form), JSON.stringify({ query: location.search, typed }));
}

function saveAllForms() {
  for (const form of document.querySelectorAll("form[data-keep]")) saveForm(form);
}

function clearSavedForms() {
  for (const form of document.querySelectorAll("form[data-keep]")) sessionStorage.removeItem(storageKey(form));
}

for (const done of document.querySelectorAll("[data-done]")) {
  const isDone = (key) => done.dataset.done.split(" ").some((beginning) => key.startsWith(`typed:${beginning}`));
  for (const key of Object.keys(sessionStorage).filter(isDone)) sessionStorage.removeItem(key);
}
for (const form of document.querySelectorAll("form[data-keep]")) {
  const saved = JSON.parse(sessionStorage.getItem(storageKey(form)));
  sessionStorage.removeItem(storageKey(form));
  const isSamePage = !location.search || location.search === saved?.query;
  if (!saved?.typed || !isSamePage || form.querySelector(".error")) continue;
  const values = Map.groupBy(saved.typed, ([name]) => name);
  for (const field of form.elements) {
    const saved = (values.get(field.name) ?? []).map(([, value]) => value);
    if (/^(checkbox|radio)$/.test(field.type)) field.checked = saved.includes(field.value);
    else if (saved.length && (/^(version|shown_zone)$/.test(field.name) || !/^(hidden|submit|file)$/.test(field.type))) field.value = saved[0];
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
let laterRequests = new WeakSet(); // requests started since then: only their success clears the line
const showError = (text) => {
  if (!alertLine) return;
  saveAllForms();
  laterRequests = new WeakSet();
  if (alertLine.textContent !== text) alertLine.textContent = text;
};
document.addEventListener("htmx:responseError", (event) => showError(describe(event.detail.xhr)));
for (const lost of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(lost, () => showError("No response. Check your connection and try again. Your input is kept."));
}
document.addEventListener("htmx:beforeSend", (event) => laterRequests.add(event.detail.xhr));
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!detail.successful || !alertLine?.textContent || !laterRequests.has(detail.xhr)) return;
  alertLine.textContent = "";
  if (!detail.xhr.getResponseHeader("HX-Redirect")) clearSavedForms(); // otherwise old input would replace newer input
});

// Forms and links that begin a session report the time zone of the browser, which becomes the person's. The first page
// does it after sign-ins without one.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
for (const form of document.querySelectorAll(".auth form[method=post]")) {
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "timezone", value: timeZone }));
}
for (const link of document.querySelectorAll(".auth a[href^='/login/oidc']")) {
  link.search += `${link.search && "&"}timezone=${encodeURIComponent(timeZone)}`;
}
const { timezone: zonePath } = document.body.dataset;
if (zonePath) {
  fetch(zonePath, { method: "POST", body: new URLSearchParams({ timezone: timeZone }), keepalive: true }).catch(() => {}); // the next page reports it again
}

// Ctrl K, or a button, opens a menu of pages and links, which is loaded then.
async function jump(event) {
  const { menu: url } = document.body.dataset;
  if (!url) return;
  event.preventDefault();
  (await import(url)).open();
}
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) jump(event);
});
document.querySelector("[data-jump]")?.addEventListener("click", jump);

// On phones the menu is closed at first, and Escape closes it.
const menu = document.querySelector("details.menu");
const isNarrow = matchMedia("(max-width: 48rem)");
if (menu && isNarrow.matches) menu.open = false;
isNarrow.addEventListener("change", ({ matches }) => menu?.toggleAttribute("open", !matches));
menu?.classList.add("ready");
menu?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !isNarrow.matches) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
