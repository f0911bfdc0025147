// The API reference. Scalar may send no requests to other sites; the Content-Security-Policy would block them.

const place = document.getElementById("reference");

globalThis.Scalar.createApiReference(place, {
  url: place.dataset.document,
  servers: [{ url: place.dataset.server }],
  baseServerURL: place.dataset.server,
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  defaultOpenFirstTag: true,
  authentication: { preferredSecurityScheme: "bearer" },
  persistAuth: false,
  theme: "none",
});

// Accessibility fixes for Scalar: names of buttons, valid roles and states, keyboard scrolling.
const set = (within, selector, change) => within.querySelectorAll(selector).forEach(change);
const name = (text) => (button) => {
  if (!button.ariaLabel && !button.innerText.trim()) button.ariaLabel = text;
};
function fixAccessibility() {
  set(place, "aside[role=navigation], [role=tablist].client-libraries-list, button[role=search], [role=tab].client-libraries", (each) => each.removeAttribute("role"));
  set(place, "button[aria-selected]:not([role])", (each) => {
    each.ariaCurrent = each.ariaSelected;
    each.removeAttribute("aria-selected");
  });
  set(place, "button[class*=sidebar-b-search]", name("Search"));
  set(place, "button[class*=copy-button]", (button) => { button.ariaLabel = "Copy"; });
  set(place, ".client-libraries-list", (list) => list.removeAttribute("aria-orientation"));
  set(place, "button.client-libraries", name("More languages"));
  set(place, "ul.endpoints", (list) => { list.tabIndex = 0; });
}
let isDue = false;
new MutationObserver(() => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    fixAccessibility();
  });
}).observe(place, { subtree: true, childList: true, attributeFilter: ["aria-selected", "role"] });
