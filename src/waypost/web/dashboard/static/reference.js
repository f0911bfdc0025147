// The API's reference. Scalar is told to call nowhere, and the page's policy would refuse it if it did.

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
