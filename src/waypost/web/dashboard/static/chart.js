// Statistics: the chart, countries by their names, the browser's time zone, and clicks as they arrive.

const language = "en-GB"; // days before months, as the server writes them
const style = getComputedStyle(document.documentElement);
const token = (name) => style.getPropertyValue(name).trim();

// Countries and moments, in words

const countries = new Intl.DisplayNames(language, { type: "region", fallback: "code" });

function name_countries(within) {
  for (const place of within.querySelectorAll("[data-country]")) {
    try {
      place.textContent = countries.of(place.dataset.country);
    } catch {
      // no code of a country that the browser knows: it stays as it is
    }
  }
}

const ago = new Intl.RelativeTimeFormat(language);
const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

function show_times() {
  for (const time of document.querySelectorAll("#clicks time")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const unit = UNITS.find(([, length]) => seconds >= length);
    time.textContent = unit ? ago.format(-Math.floor(seconds / unit[1]), unit[0]) : "just now";
  }
}

// The time zone: the browser's from the second page on, by a cookie; on the first one the statistics are requested again

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

function remember(zone) {
  document.cookie = `timezone=${zone}; path=/; max-age=31536000; samesite=lax`;
}

// Browsers offer some zones by old names only.
const NEW_NAMES = {
  "Africa/Asmera": "Africa/Asmara", "America/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis", "America/Louisville": "America/Kentucky/Louisville",
  "Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu", "Asia/Rangoon": "Asia/Yangon", "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe", "Europe/Kiev": "Europe/Kyiv", "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei", "Pacific/Truk": "Pacific/Chuuk",
};

function offer_zones() {
  const select = document.getElementById("timezone");
  if (!select || select.querySelector("optgroup")) return;
  const chosen = select.value;
  const common = Object.assign(document.createElement("optgroup"), { label: "Common" });
  const all = Object.assign(document.createElement("optgroup"), { label: "All" });
  common.append(...select.options);
  const offered = new Set([...common.children].map((option) => option.value));
  for (const zone of [here, ...Intl.supportedValuesOf("timeZone")]) {
    const name = NEW_NAMES[zone] ?? zone;
    if (!zone || offered.has(zone) || (zone !== here && offered.has(name))) continue;
    all.append(new Option(name.replaceAll("_", " "), zone));
    offered.add(zone).add(name);
  }
  all.append(...[...all.children].sort((one, other) => one.text.localeCompare(other.text)));
  select.append(common, all);
  select.value = chosen;
}

function settle_zone() {
  const select = document.getElementById("timezone");
  if (!select || !here || document.cookie.includes("timezone=")) return;
  remember(here);
  if (select.value === here || new URLSearchParams(location.search).has("timezone")) return;
  select.value = here;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("change", (event) => {
  if (event.target.id === "timezone") remember(event.target.value);
});

// The chart

const FORMS = {
  hour: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  day: { weekday: "short", day: "numeric", month: "short", year: "numeric" },
  week: { day: "numeric", month: "short", year: "numeric" },
  month: { month: "long", year: "numeric" },
};
const MARKS = {
  hour: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  day: { day: "numeric", month: "short" },
  week: { day: "numeric", month: "short" },
  month: { month: "short", year: "numeric" },
};
const count = new Intl.NumberFormat(language);
const brief = new Intl.NumberFormat(language, { notation: "compact" });
let chart = null;

function draw() {
  chart?.destroy();
  chart = null;
  const place = document.querySelector("[data-chart]");
  if (!place || !window.uPlot) return;
  const series = JSON.parse(place.parentElement.querySelector(".chart-data").textContent);
  const readout = document.createElement("p");
  readout.className = "readout";
  place.replaceChildren(readout);
  chart = new uPlot(options(series, place, readout), [series.at, series.clicks, series.visitors], place);
}

function options(series, place, readout) {
  const moment = new Intl.DateTimeFormat(language, { ...FORMS[series.interval], timeZone: series.zone });
  const mark = new Intl.DateTimeFormat(language, { ...MARKS[series.interval], timeZone: series.zone });
  const grid = { stroke: token("--line"), width: 1 };
  const axis = { stroke: token("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false } };
  const dots = { show: series.at.length < 3, size: 7 };
  return {
    width: place.clientWidth,
    height: 224,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: false, range: (_, from, to) => (from === to ? [from - 1, to + 1] : [from, to]) }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.08)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 32, space: 76, splits: (plot) => marks(plot, series.at), values: (_, at) => at.map((each) => mark.format(each * 1000)) },
      { ...axis, grid, size: 44, space: 34, incrs: whole(), values: (_, values) => values.map((value) => brief.format(value)) },
    ],
    series: [
      {},
      { stroke: token("--accent"), fill: token("--accent-soft"), width: 2, points: dots },
      { stroke: token("--muted"), width: 1.5, dash: [4, 4], points: { ...dots, stroke: token("--muted") } },
    ],
    hooks: { setCursor: [(plot) => read(plot.cursor.idx, series, readout, moment)], ready: [() => read(null, series, readout, moment)] },
  };
}

// As many of the entries as fit, evenly, the first and the last not cut off.
function marks(plot, at) {
  const capacity = Math.max(1, Math.floor(plot.bbox.width / devicePixelRatio / 84));
  const step = Math.max(1, Math.ceil(at.length / capacity));
  const first = at.length > capacity ? Math.floor(step / 2) : 0;
  return at.filter((_, index) => index % step === first);
}

const whole = () => [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500].concat(
  [1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((size) => [size, 2 * size, 2.5 * size, 5 * size]),
);

function read(index, series, readout, moment) {
  const part = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text;
    return span;
  };
  if (index === null || index === undefined) {
    readout.replaceChildren(part("key", "Clicks"), part("key dashed", "Visitors"));
    return;
  }
  const when = moment.format(series.at[index] * 1000);
  readout.replaceChildren(
    part("when", series.interval === "week" ? `Week of ${when}` : when),
    part("key", `${count.format(series.clicks[index])} clicks`),
    part("key dashed", `${count.format(series.visitors[index])} visitors`),
    part("", `${count.format(series.scans[index])} scans`),
  );
}

new ResizeObserver(() => {
  const place = document.querySelector("[data-chart]");
  if (chart && place?.clientWidth && chart.width !== place.clientWidth) {
    chart.setSize({ width: place.clientWidth, height: chart.height });
  }
}).observe(document.querySelector("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// Clicks as they arrive: rows on top, and statistics at most once in three seconds

const SHOWN = 12;
const PAUSE = 3000;
const latest = document.querySelector("[data-live]");
let stream = null;
let refreshing = null;
let is_stale = false;

function listen() {
  stream = new EventSource(latest.dataset.live);
  const badge = latest.querySelector("[data-live-badge]");
  stream.addEventListener("open", () => { badge.hidden = false; });
  stream.addEventListener("error", () => { badge.hidden = true; });
  stream.addEventListener("clicks", (event) => arrive(event.data));
}

function arrive(html) {
  const list = document.getElementById("clicks");
  const held = document.createElement("template");
  held.innerHTML = html;
  const fresh = [...held.content.children].filter((row) => !document.getElementById(row.id));
  if (!fresh.length) return;
  for (const row of fresh) row.classList.add("fresh");
  list.prepend(...fresh);
  while (list.children.length > SHOWN) list.lastElementChild.remove();
  document.getElementById("no-clicks").hidden = true;
  name_countries(list);
  show_times();
  refresh();
}

async function refresh() {
  is_stale = true;
  if (refreshing || !document.querySelector("[data-refresh=on]")) return;
  refreshing = setTimeout(() => {
    refreshing = null;
    if (is_stale) refresh();
  }, PAUSE);
  is_stale = false;
  const address = location.href;
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  if (!answer.ok || address !== location.href) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = [...fresh.querySelectorAll("[data-fresh]")];
  const statistics = document.getElementById("statistics");
  if (parts.every((part) => document.getElementById(part.id))) {
    for (const part of parts) replace(part);
  } else if (!statistics.contains(document.activeElement)) { // the first click: now there is something to list
    const replacement = fresh.getElementById("statistics");
    statistics.replaceWith(replacement);
    window.htmx?.process(replacement);
    begin();
  }
}

// Elements that have the focus or are being read are not replaced.
function replace(part) {
  const old = document.getElementById(part.id);
  const is_read = old.matches("#series:hover") || old.contains(document.activeElement) || old.querySelector("details[open]");
  if (is_read) return;
  old.replaceWith(part);
  name_countries(part);
  if (part.querySelector("[data-chart]")) draw();
}

if (latest && window.EventSource) {
  listen();
  document.addEventListener("visibilitychange", () => {
    stream.close();
    if (!document.hidden) listen();
  });
  setInterval(show_times, 15000);
}

function begin() {
  name_countries(document);
  offer_zones();
  draw();
}

document.addEventListener("htmx:afterSettle", ({ target }) => {
  name_countries(target);
  offer_zones();
  if (target.querySelector("[data-chart]")) draw();
});
begin();
document.addEventListener("DOMContentLoaded", settle_zone); // htmx listens from then on
