// What the tests of the client share. Python gives them a service, a proxy before it that fails, and keys.

import { Waypost } from "@waypost/client";
import { clock } from "./node_modules/@waypost/client/dist/attempts.js";

export const { SERVICE, PROXY, WEBSITE } = process.env;
export const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
/** Other programs may run before the same service. */
export const RUN = crypto.randomUUID().slice(0, 8);
const keys = process.env.KEYS?.split(",") ?? [];

/** A client with a key of its own: each has a budget of requests. */
export function newClient(options = {}) {
  return new Waypost({ baseUrl: SERVICE, apiKey: keys.shift(), ...options });
}

/** A client whose first requests have these faults. It notes what it sends, and how long it would wait. */
export function newFaultyClient(options = {}) {
  const faults = [];
  const sent = [];
  const waits = [];
  clock.sleep = async (seconds) => void waits.push(seconds);
  const fetchWithFault = (url, init) => {
    sent.push({ url: String(url), headers: new Headers(init.headers), body: init.body });
    const headers = new Headers(init.headers);
    if (faults.length > 0) {
      headers.set("X-Fault", faults.shift());
    }
    return fetch(url, { ...init, headers });
  };
  const waypost = newClient({ baseUrl: PROXY, timeout: 60_000, fetch: fetchWithFault, ...options });
  return { waypost, faults, sent, waits };
}

/** A client of a service that is a function. */
export function newClientOf(respond, options = {}) {
  const fetch = async (url, init) => respond(new Request(url, { ...init, duplex: "half" }));
  return new Waypost({ baseUrl: "https://go.example.com", apiKey: "wp_live_key", fetch, ...options });
}

export async function all(list) {
  const found = [];
  for await (const each of list) {
    found.push(each);
  }
  return found;
}

export async function eventually(isSo) {
  const deadline = Date.now() + 30_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) {
      throw new Error("this did not come to be in time");
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
