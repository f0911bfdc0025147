// Shortens the page of the current tab when the form is sent, copies the short URL, and shows its QR code.
import { browser, clientOf, explain, load } from "./settings.js";

const $ = (id) => document.getElementById(id);
const say = (text) => ($("message").textContent = text);

async function start() {
  const settings = await load();
  if (!settings) return say("Enter the address of your Waypost and an API key in the settings.");
  const [tab] = await browser.tabs.query({ active: true, currentWindow: true });
  if (!/^https?:/.test(tab?.url ?? "")) return say("This page has no web address to shorten.");
  $("page").textContent = tab.url;
  $("form").hidden = false;
  $("slug").focus();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    $("create").disabled = true;
    say("Creating the link …");
    try {
      await create(settings, tab);
    } catch (error) {
      say(explain(error));
    }
    $("create").disabled = false;
  });
}

async function create(settings, tab) {
  const client = clientOf(settings);
  const slug = $("slug").value.trim();
  const optional = { ...(slug && { slug }), ...(settings.hostname && { hostname: settings.hostname }) };
  const link = await client.links.create({ destination_url: tab.url, ...optional });
  const short = `${new URL(settings.baseUrl).protocol}//${link.short_url}`;
  $("short").value = short;
  $("form").hidden = true;
  $("result").hidden = false;
  $("short").select();
  await copy(short);
  await showCode(client, link.id);
}

async function copy(short) {
  try {
    await navigator.clipboard.writeText(short);
    say("Copied.");
  } catch {
    say("Press Ctrl+C to copy it.");
  }
}

async function showCode(client, id) {
  const { svg_url } = await client.qrcodes.get(id);
  const image = await client.qrcodes.image(svg_url);
  $("code").src = URL.createObjectURL(new Blob([image], { type: "image/svg+xml" }));
  $("code").hidden = false;
}

$("copy").addEventListener("click", () => copy($("short").value));
start();
