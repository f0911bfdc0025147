// Saves the settings after a request with them, and asks for the permission to reach this one service.
import { browser, clientOf, explain, load, originOf, save } from "./settings.js";

const $ = (id) => document.getElementById(id);
const say = (text) => ($("message").textContent = text);

async function fill() {
  const settings = await load();
  if (!settings) return;
  $("base-url").value = settings.baseUrl;
  $("api-key").value = settings.apiKey;
  $("hostname").value = settings.hostname;
}

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("save").disabled = true;
  try {
    say(await check());
  } catch (error) {
    say(explain(error));
  }
  $("save").disabled = false;
});

async function check() {
  const [baseUrl, apiKey, hostname] = ["base-url", "api-key", "hostname"].map((id) => $(id).value.trim());
  const settings = { baseUrl: originOf(baseUrl), apiKey, hostname };
  // before anything else is awaited: browsers allow the question only as an answer to a click
  const { protocol, hostname: host } = new URL(settings.baseUrl);
  if (!(await browser.permissions.request({ origins: [`${protocol}//${host}/*`] }))) {
    return "The extension needs the permission to send requests to this address.";
  }
  const account = await clientOf(settings).account.get();
  await save(settings);
  return `Saved. Links are created in the account ${account.name}.`;
}

fill();
