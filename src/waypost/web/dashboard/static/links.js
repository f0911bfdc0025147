// The list of links and the link form. The server decides; this file shows what follows from the input.

// Going back reloads the list: no page is kept in the browser's storage.
htmx.config.historyCacheSize = 0;
htmx.config.refreshOnHistoryMiss = true;

// The server fills the dialog that confirms a deletion.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id !== "confirm") return;
  const menu = document.querySelector("details.drop[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus(); // gets the focus back when the dialog closes
  }
  event.detail.target.showModal();
});
// The bookmarklet is dragged: this page's policy would refuse to run it.
document.getElementById("bookmarklet")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("bookmarklet-hint").textContent = "Drag the button to the bookmarks bar, or copy it and paste it as the URL of a new bookmark.";
});
// One menu at a time; a click elsewhere closes it.
document.addEventListener("click", (event) => {
  if (event.target.closest("#confirm a[data-close]")) event.preventDefault(); // the list is on the page already
  for (const menu of document.querySelectorAll("details.drop[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.drop[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// The file has what the list shows now, after filters were changed.
document.addEventListener("click", ({ target }) => {
  const file = target.closest("a[href^='/links/csv']");
  if (file) file.search = location.search;
}, true);

// The selection of the list: a range with shift, the whole page, and how many are selected.
let lastPicked;
const picks = () => [...document.querySelectorAll("input[form=bulk]")];
const showSelection = () => {
  const bulk = document.getElementById("bulk");
  if (!bulk) return;
  const boxes = picks();
  const selected = boxes.filter((box) => box.checked).length;
  const page = bulk.querySelector("#select-page");
  page.checked = selected > 0 && selected === boxes.length;
  page.indeterminate = selected > 0 && selected < boxes.length;
  const isAny = selected > 0 || bulk.elements.namedItem("all")?.checked;
  for (const button of bulk.querySelectorAll("button")) button.disabled = !isAny;
  bulk.querySelector("#selected").textContent = bulk.elements.namedItem("all")?.checked || !selected ? "" : `${selected} selected`;
};
document.addEventListener("click", (event) => {
  const box = event.target;
  if (box.id === "select-page") for (const each of picks()) each.checked = box.checked;
  else if (box.matches?.("input[form=bulk]")) {
    const boxes = picks();
    const [from, to] = [boxes.indexOf(lastPicked), boxes.indexOf(box)].sort((a, b) => a - b);
    if (event.shiftKey && from >= 0) for (const each of boxes.slice(from, to + 1)) each.checked = box.checked;
    lastPicked = box;
  }
  showSelection();
});
document.addEventListener("htmx:afterSwap", showSelection);
addEventListener("pageshow", showSelection); // the browser restores checkboxes when it goes back
showSelection();

// Keys of the list, while the focus is in it: j and k move, x selects, e edits, Enter opens, / searches.
const focusedRow = () => document.activeElement?.closest(".links > li");
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  if (!search || !event.target.closest("#found") || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
  const rows = [...document.querySelectorAll(".links > li")];
  const row = focusedRow();
  if (event.key === "j" || event.key === "k") {
    const next = row ? rows.indexOf(row) + (event.key === "j" ? 1 : -1) : 0;
    rows[Math.max(0, Math.min(next, rows.length - 1))]?.querySelector(".short").focus();
  } else if (event.key === "x") row?.querySelector(".pick input")?.click();
  else if (event.key === "e") row?.querySelector("a[href$='/edit']")?.click();
  else if (event.key === "/") search.select();
  else return;
  event.preventDefault();
});

// Who enters the expiry of many links wants to set it.
const { elements: changes } = document.getElementById("change-links") ?? {};
changes?.namedItem("set[expires_at]").addEventListener("input", ({ target }) => {
  if (target.value) changes.namedItem("expiry").value = "at";
});

const KEYS = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];
const encodeValue = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const decodeName = (name) => {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
};

// As the server builds it: parameters of the same names are removed, ours come last, a path without a file ends with a slash.
export function destinationWithUtm(destination, utm) {
  const names = KEYS.filter((key) => utm[key]);
  if (!names.length || !URL.canParse(destination)) return destination;
  const url = /^[!#-;=?-[\]_a-z~]+$/i.test(destination) ? destination : new URL(destination).href;
  const [, start, query, fragment] = url.match(/^([^?#]*)(?:\?([^#]*))?(#.*)?$/);
  const [, scheme, authority, rest] = start.match(/^([^:]+):\/\/([^/]*)\/?(.*)$/);
  const path = rest && !rest.endsWith("/") && !rest.split("/").at(-1).includes(".") ? `${rest}/` : rest;
  const others = (query ?? "").split("&").filter((part) => part && !names.includes(decodeName(part.split("=")[0])));
  const own = names.map((key) => `${key}=${encodeValue(utm[key])}`);
  return `${scheme.toLowerCase()}://${authority.toLowerCase()}/${path}?${[...others, ...own].join("&")}${fragment ?? ""}`;
}

const form = document.getElementById("link");
if (form) setUpForm(form);

function setUpForm(form) {
  const field = (name) => form.elements.namedItem(name);
  const { destination_url: destination, slug, new_tags: tags } = form.elements;

  // the short URL, and the destination with its UTM parameters
  const updateUrls = () => {
    const host = field("hostname")?.value ?? form.querySelector("#hostname-only").textContent;
    form.querySelector("#short").textContent = `${host}/${slug.value || "…"}`;
    const utm = Object.fromEntries([...form.querySelectorAll("[data-utm]")].map((input) => [input.dataset.utm, input.value]));
    form.querySelector("#destination-with-utm").textContent = destinationWithUtm(destination.value.trim(), utm);
    updateCard();
  };

  // a template replaces all parameters
  const template = form.querySelector("#utm-template");
  template?.addEventListener("change", () => {
    const params = JSON.parse(template.value);
    for (const input of form.querySelectorAll("[data-utm]")) input.value = params[input.dataset.utm] ?? "";
  });
  form.querySelector("#template")?.removeAttribute("hidden");

  // the card: input wins over the destination page
  const updateCard = () => {
    const caption = form.querySelector("#card figcaption");
    if (!caption) return;
    for (const [name, key] of [["title", "title"], ["og_title", "ogTitle"], ["og_description", "ogDescription"], ["og_image", "ogImage"]]) {
      if (!form.dataset.link) field(name).placeholder = caption.dataset[key];
    }
    form.querySelector("#card-title").textContent = field("og_title").value || caption.dataset.ogTitle || field("title").value || "Untitled";
    form.querySelector("#card-description").textContent = (field("og_description").value || caption.dataset.ogDescription).slice(0, 300);
  };

  // the card's image: the chosen file, else the typed URL, else for a new link the image of the destination page
  const setImage = (tag, properties) => {
    form.querySelector("#card-image")?.replaceWith(Object.assign(document.createElement(tag), { id: "card-image", ...properties }));
  };
  const showImage = () => {
    const file = field("og_image_file").files[0];
    const scraped = form.dataset.link ? "" : form.querySelector("#card figcaption")?.dataset.ogImage;
    const url = field("og_image").value.trim() || scraped;
    if (file) {
      const reader = new FileReader();
      reader.addEventListener("load", () => setImage("img", { src: reader.result, alt: "" }));
      reader.readAsDataURL(file);
    } else if (!url) {
      setImage("p", { className: "none small wrap", textContent: "No image" });
    } else if (field("og_image").checkValidity()) {
      const isOurs = url.startsWith(`${location.origin}/media/`);
      const src = isOurs ? url : `/links/card-image?url=${encodeURIComponent(url)}`;
      setImage("img", { className: "small", src, alt: `Image from ${url}` });
    }
  };
  field("og_image_file").addEventListener("change", ({ target }) => {
    target.setCustomValidity(target.files[0]?.size > 2 * 1024 * 1024 ? "The image must be 2 MB or smaller." : "");
    if (target.reportValidity()) showImage();
  });
  field("og_image").addEventListener("change", showImage);
  form.addEventListener("error", ({ target }) => {
    if (target.id === "card-image") setImage("p", { className: "none small wrap", textContent: "The image cannot be loaded." });
  }, true);

  // preview the destination once it is complete
  let previewed = destination.value;
  const preview = () => {
    const typed = destination.value.trim();
    destination.value = typed && !typed.includes("://") && /^(?!\w+:\D)[^\s/]+\.[^\s/]+/.test(typed) ? `https://${typed}` : typed;
    updateUrls();
    if (destination.value === previewed || (destination.value && !destination.checkValidity())) return;
    previewed = destination.value;
    htmx.trigger(destination, "preview");
  };
  let previewTimer;
  destination.addEventListener("input", () => {
    clearTimeout(previewTimer);
    previewTimer = setTimeout(() => URL.canParse(destination.value) && preview(), 600);
  });
  destination.addEventListener("change", preview);
  form.addEventListener("input", updateUrls);
  form.addEventListener("htmx:afterSwap", ({ detail }) => {
    updateCard();
    if (detail.target.id === "card" && (field("og_image_file").files[0] || field("og_image").value.trim())) showImage();
  });

  // typed tags become checkboxes
  const addTags = () => {
    for (const tag of tags.value.split(",").map((text) => text.trim()).filter(Boolean)) {
      const known = [...form.querySelectorAll("[name='tags[]']")].find((box) => box.value === tag);
      if (known) known.checked = true;
      else form.querySelector("#chips").append(newTag(tag));
    }
    tags.value = "";
  };
  const newTag = (tag) => {
    const label = Object.assign(document.createElement("label"), { className: "badge check" });
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "tags[]", value: tag, checked: true });
    const text = Object.assign(document.createElement("span"), { textContent: tag, dir: "auto" });
    label.append(box, text);
    return label;
  };
  tags.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !tags.value.trim()) return;
    event.preventDefault();
    addTags();
  });
  tags.addEventListener("input", (event) => {
    const picked = !(event instanceof InputEvent) || event.inputType === "insertReplacementText"; // a suggestion was chosen
    if (picked || tags.value.endsWith(",")) addTags();
  });
  // when a click leaves the field, wait for its end: a new chip would move the click's target
  let isPressed = false;
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isPressed = false; }, true);
  tags.addEventListener("change", () => {
    if (isPressed) addEventListener("pointerup", () => setTimeout(addTags), { once: true });
    else addTags();
  });

  for (const button of form.querySelectorAll(".dates button")) {
    button.addEventListener("click", () => {
      const { fills, time } = button.parentElement.dataset;
      const zone = form.querySelector("[name=shown_zone]").value;
      const day = new Date(`${new Intl.DateTimeFormat("sv", { timeZone: zone }).format()}T12:00`); // Swedish dates are as in ISO 8601
      if (button.value === "month") day.setMonth(day.getMonth() + 1, 0);
      else day.setDate(day.getDate() + Number(button.value));
      field(fills).value = `${day.toLocaleDateString("sv")}T${time}`;
      field(fills).dispatchEvent(new Event("input", { bubbles: true }));
    });
  }

  form.querySelector("#roll").addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful) return;
    slug.value = detail.xhr.responseText;
    slug.dispatchEvent(new Event("input", { bubbles: true }));
  });
  updateUrls();
  // a destination from the page's URL is previewed only after the first interaction: any site can link here with one
  if (!destination.value || form.dataset.link) return;
  const started = new AbortController();
  const start = () => {
    started.abort();
    if (destination.value === previewed) htmx.trigger(destination, "preview"); // another one is previewed anyway
  };
  if (form.querySelector(".notice.bad")) start(); // the form was sent from our own page, and refused
  else for (const gesture of ["pointerdown", "keydown"]) addEventListener(gesture, start, { signal: started.signal });
}
