// Names and keyboard access that the theme leaves out: it adds parts after the page has loaded.
function complete() {
  for (const nav of document.querySelectorAll("nav[aria-labelledby]")) {
    if (document.getElementById(nav.getAttribute("aria-labelledby"))?.textContent.trim()) continue;
    nav.setAttribute("aria-label", nav.parentElement.querySelector(".md-ellipsis").textContent.trim());
    nav.removeAttribute("aria-labelledby");
  }
  document.querySelectorAll("nav.md-code__nav").forEach((nav, index) => nav.setAttribute("aria-label", `Code ${index + 1}`));
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
}
new MutationObserver(complete).observe(document.documentElement, { childList: true, subtree: true });
