// The API reference. Scalar may send no requests to other sites; the Content-Security-Policy would block them.

const element = document.getElementById("reference");

globalThis.Scalar.createApiReference(element, {
  url: element.dataset.document,
  servers: [{ url: element.dataset.server }],
  baseServerURL: element.dataset.server,
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  hiddenClients: true,  // the document has samples of its own
  defaultOpenFirstTag: true,
  authentication: { preferredSecurityScheme: "bearer" },
  persistAuth: false,
  orderSchemaPropertiesBy: "preserve",
  theme: "none",
});

// Accessibility fixes for Scalar: names of buttons, valid roles and states, keyboard scrolling.
const set = (within, selector, change) => within.querySelectorAll(selector).forEach(change);
const name = (text) => (button) => {
  if (!button.ariaLabel && !button.innerText.trim()) button.ariaLabel = text;
};
function fixAccessibility() {
  set(element, "aside[role=navigation], [role=tablist].client-libraries-list, button[role=search], [role=tab].client-libraries", (widget) => widget.removeAttribute("role"));
  set(element, "button[aria-selected]:not([role])", (button) => {
    button.ariaCurrent = button.ariaSelected;
    button.removeAttribute("aria-selected");
  });
  set(element, "button[class*=sidebar-b-search]", name("Search"));
  set(element, "button[class*=copy-button], button.code-copy", (button) => { button.ariaLabel = "Copy"; });
  set(element, ".client-libraries-list", (list) => list.removeAttribute("aria-orientation"));
  set(element, "button.client-libraries", name("More languages"));
  set(element, ".scalar-card[role=region]", (card) => {  // one for each endpoint, all with the same name
    card.removeAttribute("role");
    card.removeAttribute("aria-label");
  });
  set(element, "ul.endpoints", (list) => { list.tabIndex = 0; });
}
let isDue = false;
new MutationObserver(() => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    fixAccessibility();
  });
}).observe(element, { subtree: true, childList: true, attributeFilter: ["aria-selected", "role"] });
