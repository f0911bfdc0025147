// Shortens the URL of a release. It needs nothing but Node.js 20 or later, and works in a second run as in the first:
// it finds the link of an earlier run, and runs at the same time share an idempotency key.
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";

const ATTEMPTS = 4;
const MAX_WAIT = 60; // seconds
const ADVICE = {
  401: "Check the secret with the API key: it is wrong, expired or revoked.",
  402: "The account has no active plan.",
  403: "Create an API key with the scopes links:read and links:write.",
};
const env = process.env;

class Failure extends Error {}

const input = (name) => (env[`INPUT_${name.toUpperCase()}`] ?? "").trim();
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const escape = (text) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

function required(name) {
  const text = input(name);
  if (!text) throw new Failure(`The input ${name} is missing. If it is a secret, it is not available to this workflow.`);
  return text;
}

function readOrigin() {
  const text = required("base-url");
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !["https:", "http:"].includes(url.protocol)) throw new Failure("The input base-url is not a web address.");
  const isLocal = ["localhost", "127.0.0.1"].includes(url.hostname);
  if (url.protocol === "http:" && !isLocal) throw new Failure("The input base-url must begin with https://, to protect the API key.");
  return url.origin;
}

function readRelease() {
  return env.GITHUB_EVENT_PATH ? JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, "utf8")).release ?? {} : {};
}

function readLink(release) {
  const url = input("url") || release.html_url;
  if (!url) throw new Failure("There is no URL to shorten: set the input url, or run this step on the event release.");
  const tags = input("tags").split(",").map((tag) => tag.trim()).filter(Boolean);
  const optional = { slug: input("slug"), hostname: input("hostname"), title: input("title") || (input("url") ? "" : release.name) };
  const given = Object.entries(optional).filter(([, value]) => value);
  return { destination_url: url, ...Object.fromEntries(given), ...(tags.length ? { tags } : {}) };
}

async function send(path, options = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const problem = await tryToSend(path, options);
    if (problem.answer) return problem.answer;
    if (attempt === ATTEMPTS || problem.wait > MAX_WAIT) throw new Failure(problem.message);
    await sleep(problem.wait ?? 2 ** attempt);
  }
}

// Returns the answer, or a message and how long to wait before the next attempt.
async function tryToSend(path, { headers = {}, ...options }) {
  const all = { Accept: "application/json", Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers };
  let response, text;
  try {
    response = await fetch(`${origin}/api/v1${path}`, { redirect: "manual", signal: AbortSignal.timeout(60_000), ...options, headers: all });
    text = await response.text();
  } catch (error) {
    return { message: `No response from ${origin}: ${error.cause?.message ?? error.message}` };
  }
  if (response.status === 429 || response.status >= 500) {
    const wait = Number(response.headers.get("retry-after")) || undefined;
    return { wait, message: `${origin} responded with status ${response.status}. ${messageIn(text)}`.trim() };
  }
  return { answer: { status: response.status, headers: response.headers, text, body: parse(text) } };
}

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
const messageIn = (text) => parse(text)?.error?.message ?? "";

function requireSuccess({ status, body, text }) {
  if (status < 300 && body?.data !== undefined) return body.data;
  const error = body?.error;
  if (!error) throw new Failure(`${origin} did not respond as Waypost does (status ${status}). Check the input base-url.`);
  const fields = Object.entries(error.errors ?? {}).map(([field, messages]) => `${field}: ${messages.join(" ")}`);
  throw new Failure([`Waypost refused the request (${status}): ${messageIn(text)}`, ADVICE[status], ...fields].filter(Boolean).join("\n"));
}

async function findLink(link) {
  const destination = URL.canParse(link.destination_url) ? new URL(link.destination_url).href : link.destination_url;
  const filters = { search: destination.slice(0, 255), status: "active", per_page: 100, ...(link.hostname && { hostname: link.hostname }) };
  const found = requireSuccess(await send(`/links?${new URLSearchParams(filters)}`));
  return found.find((each) => each.destination_url === destination && (!link.slug || each.slug === link.slug));
}

async function createLink(link) {
  const body = JSON.stringify(link);
  const key = (...parts) => createHash("sha256").update(JSON.stringify([env.GITHUB_REPOSITORY, ...parts, body])).digest("hex");
  const post = (key) => send("/links", { method: "POST", body, headers: { "Idempotency-Key": key } });
  const first = await post(key());
  const isRepeated = first.headers.get("idempotent-replayed") === "true";
  // the link of a repeated answer can be deleted since
  if (!isRepeated || (await send(`/links/${first.body.data.id}`)).status !== 404) return requireSuccess(first);
  return requireSuccess(await post(key(env.GITHUB_RUN_ID, env.GITHUB_RUN_ATTEMPT)));
}

function writeOutputs(link) {
  const shortUrl = `${new URL(origin).protocol}//${link.short_url}`;
  const lines = `short-url=${shortUrl}\nid=${link.id}\n`;
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, lines);
  return shortUrl;
}

let origin, key;
try {
  key = required("api-key");
  console.log(`::add-mask::${escape(key)}`);
  origin = readOrigin();
  const link = readLink(readRelease());
  const found = await findLink(link);
  console.log(`${found ? "Found" : "Created"} ${writeOutputs(found ?? (await createLink(link)))}`);
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.log(`::error title=Waypost::${escape(error.message)}`);
  process.exitCode = 1;
}
