// Calls of the client and of bare `fetch` in turn, on connections of the same pool. Prints milliseconds as JSON:
// {"reads a link": {"own": {"times": […], "processor": […]}, "bare": {…}}, …}

import { pathToFileURL } from "node:url";

const { BASE_URL, KEYS, LINK, CALLS, CLIENT } = process.env;
const { Waypost } = await import(pathToFileURL(CLIENT));
const measured = {};

async function measure(what, kind, call) {
  const processor = process.cpuUsage();
  const began = performance.now();
  await call();
  const milliseconds = performance.now() - began;
  const { user, system } = process.cpuUsage(processor);
  const noted = ((measured[what] ??= {})[kind] ??= { times: [], processor: [] });
  noted.times.push(milliseconds);
  noted.processor.push((user + system) / 1000);
}

for (const key of KEYS.split(",")) {
  const waypost = new Waypost({ baseUrl: BASE_URL, apiKey: key });
  const bare = async (path) => (await fetch(BASE_URL + path, { headers: { Authorization: `Bearer ${key}` } })).json();
  const calls = {
    "reads a link": [() => waypost.links.get(LINK), () => bare(`/api/v1/links/${LINK}`)],
    "reads 100 links": [() => waypost.links.list().pages().next(), () => bare("/api/v1/links?page=1&per_page=100")],
  };
  for (const [what, [own, other]] of Object.entries(calls)) {
    const pair = [["own", own], ["bare", other]];
    for (let count = 0; count < Number(CALLS); count += 1) {
      for (const [kind, call] of pair.reverse()) {
        await measure(what, kind, call);
      }
    }
  }
}
console.log(JSON.stringify(measured));
