// The list of links, and the form that makes one: what the server decides is asked of it, the rest is shown as it is typed.

// Back to a list as it is now, not as it was: no page of somebody's is kept in the browser's storage.
htmx.config.historyCacheSize = 0;
htmx.config.refreshOnHistoryMiss = true;

// Whether to delete a link is asked in a dialog, which the server fills.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id !== "ask") return;
  const menu = document.querySelector("details.drop[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus(); // where the dialog leads back to
  }
  event.detail.target.showModal();
});
// One menu at a time, and none where the next click goes.
document.addEventListener("click", (event) => {
  if (event.target.closest("#ask a[data-close]")) event.preventDefault(); // the list is there already
  for (const menu of document.querySelectorAll("details.drop[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.drop[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

const KEYS = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];
const quoted = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const read = (name) => {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
};

// As the server writes it: parameters of the same names go, ours come last, a path that names no file ends with a slash.
export function resulting(destination, utm) {
  const names = KEYS.filter((key) => utm[key]);
  if (!names.length || !URL.canParse(destination)) return destination;
  const url = /^[!#-;=?-[\]_a-z~]+$/i.test(destination) ? destination : new URL(destination).href;
  const [, start, query, fragment] = url.match(/^([^?#]*)(?:\?([^#]*))?(#.*)?$/);
  const [, scheme, authority, rest] = start.match(/^([^:]+):\/\/([^/]*)\/?(.*)$/);
  const path = rest && !rest.endsWith("/") && !rest.split("/").at(-1).includes(".") ? `${rest}/` : rest;
  const others = (query ?? "").split("&").filter((part) => part && !names.includes(read(part.split("=")[0])));
  const own = names.map((key) => `${key}=${quoted(utm[key])}`);
  return `${scheme.toLowerCase()}://${authority.toLowerCase()}/${path}?${[...others, ...own].join("&")}${fragment ?? ""}`;
}

const form = document.getElementById("link");
if (form) fill(form);

function fill(form) {
  const field = (name) => form.elements.namedItem(name);
  const { destination_url: destination, slug, new_tags: tags, expires_at: expiry, expires_offset: offset } = form.elements;

  // the short link and the destination, as they will be
  const show = () => {
    const host = field("hostname")?.value ?? form.querySelector("#hostname-only").textContent;
    form.querySelector("#short").textContent = `${host}/${slug.value || "…"}`;
    const utm = Object.fromEntries([...form.querySelectorAll("[data-utm]")].map((each) => [each.dataset.utm, each.value]));
    form.querySelector("#resulting").textContent = resulting(destination.value.trim(), utm);
    shared();
  };

  // the card: what is typed wins over what the page says
  const shared = () => {
    const seen = form.querySelector("#card figcaption");
    if (!seen) return;
    for (const [name, key] of [["title", "title"], ["og_title", "ogTitle"], ["og_description", "ogDescription"], ["og_image", "ogImage"]]) {
      if (!form.dataset.link) field(name).placeholder = seen.dataset[key];
    }
    form.querySelector("#card-title").textContent = field("og_title").value || seen.dataset.ogTitle || field("title").value || "Untitled";
    form.querySelector("#card-description").textContent = (field("og_description").value || seen.dataset.ogDescription).slice(0, 300);
  };

  // its picture: of the chosen file, else at the typed address, else for a new link the one that the page names
  const picture = (tag, told) => {
    form.querySelector("#picture")?.replaceWith(Object.assign(document.createElement(tag), { id: "picture", ...told }));
  };
  const pictured = () => {
    const file = field("og_image_file").files[0];
    const scraped = form.dataset.link ? "" : form.querySelector("#card figcaption")?.dataset.ogImage;
    const address = field("og_image").value.trim() || scraped;
    if (file) {
      const reader = new FileReader();
      reader.addEventListener("load", () => picture("img", { src: reader.result, alt: "" }));
      reader.readAsDataURL(file);
    } else if (!address) {
      picture("p", { className: "none small wrap", textContent: "No image" });
    } else if (field("og_image").checkValidity()) {
      const isOurs = address.startsWith(`${location.origin}/media/`);
      const src = isOurs ? address : `/links/card-image?url=${encodeURIComponent(address)}`;
      picture("img", { className: "small", src, alt: `The image at ${address}` });
    }
  };
  field("og_image_file").addEventListener("change", ({ target }) => {
    target.setCustomValidity(target.files[0]?.size > 2 * 1024 * 1024 ? "This may be at most 2 MB." : "");
    if (target.reportValidity()) pictured();
  });
  field("og_image").addEventListener("change", pictured);

  // a look at the destination, once it is there
  let looked = destination.value;
  const look = () => {
    const typed = destination.value.trim();
    destination.value = typed && !typed.includes("://") && /^[^\s/]+\.[^\s/]+/.test(typed) ? `https://${typed}` : typed;
    show();
    if (destination.value === looked || (destination.value && !destination.checkValidity())) return;
    looked = destination.value;
    htmx.trigger(destination, "look");
  };
  let waiting;
  destination.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => URL.canParse(destination.value) && look(), 600);
  });
  destination.addEventListener("change", look);
  form.addEventListener("input", show);
  form.addEventListener("htmx:afterSwap", ({ detail }) => {
    shared();
    if (detail.target.id === "card" && (field("og_image_file").files[0] || field("og_image").value.trim())) pictured();
  });

  // tags become chips
  const chip = () => {
    for (const tag of tags.value.split(",").map((each) => each.trim()).filter(Boolean)) {
      const known = [...form.querySelectorAll("[name='tags[]']")].find((each) => each.value === tag);
      if (known) known.checked = true;
      else form.querySelector("#chips").append(made(tag));
    }
    tags.value = "";
  };
  const made = (tag) => {
    const label = Object.assign(document.createElement("label"), { className: "badge check" });
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "tags[]", value: tag, checked: true });
    const text = Object.assign(document.createElement("span"), { textContent: tag, dir: "auto" });
    label.append(box, text);
    return label;
  };
  tags.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !tags.value.trim()) return;
    event.preventDefault();
    chip();
  });
  tags.addEventListener("input", (event) => {
    const picked = !(event instanceof InputEvent) || event.inputType === "insertReplacementText"; // from the suggestions
    if (picked || tags.value.endsWith(",")) chip();
  });
  // leaving the field by a click: only after it, or the chips move what is clicked from under it
  let isPressed = false;
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isPressed = false; }, true);
  tags.addEventListener("change", () => {
    if (isPressed) addEventListener("pointerup", () => setTimeout(chip), { once: true });
    else chip();
  });

  // the expiry is shown and typed in the browser's zone, and sent with its offset at that moment
  const local = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString();
  if (expiry.value && expiry.defaultValue.startsWith(expiry.value) && !offset.value) expiry.value = local(new Date(`${expiry.value}Z`)).slice(0, expiry.step === "1" ? 19 : 16);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  form.querySelector("#expires_at-hint").firstChild.textContent = `In your time zone (${zone.replaceAll("_", " ")}). From then on visitors see the page for links that do not exist.`;
  const settle = () => {
    offset.value = expiry.value ? new Date(expiry.value).getTimezoneOffset() : "";
  };
  expiry.addEventListener("input", settle);
  settle();
  show();
  // a destination that came with the page is looked at when somebody begins to use it: any site can lead here with one
  if (!destination.value || form.dataset.link) return;
  const begun = new AbortController();
  const begin = () => {
    begun.abort();
    if (destination.value === looked) htmx.trigger(destination, "look"); // another is looked at anyhow
  };
  for (const gesture of ["pointerdown", "keydown"]) addEventListener(gesture, begin, { signal: begun.signal });
}
