// Statistics: the chart, the time zone of shares, and clicks as they arrive.

const style = getComputedStyle(document.documentElement);
const token = (name) => style.getPropertyValue(name).trim();

// Relative times

const ago = new Intl.RelativeTimeFormat("en");
const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

function updateTimes() {
  for (const time of document.querySelectorAll(".clicks time")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const unit = UNITS.find(([, length]) => seconds >= length);
    time.textContent = unit ? ago.format(-Math.floor(seconds / unit[1]), unit[0]) : "just now";
  }
}

// Visitors of a share choose a time zone. Until they do, the statistics are requested again in the browser's.

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// Browsers offer some zones by old names only.
const NEW_NAMES = {
  "Africa/Asmera": "Africa/Asmara", "America/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis", "America/Louisville": "America/Kentucky/Louisville",
  "Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu", "Asia/Rangoon": "Asia/Yangon", "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe", "Europe/Kiev": "Europe/Kyiv", "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei", "Pacific/Truk": "Pacific/Chuuk",
};

function offerZones() {
  const select = document.getElementById("timezone");
  if (!select || select.querySelector("optgroup")) return;
  const chosen = select.value;
  const common = Object.assign(document.createElement("optgroup"), { label: "Common" });
  const all = Object.assign(document.createElement("optgroup"), { label: "All" });
  common.append(...select.options);
  const offered = new Set([...common.children].map((option) => option.value));
  for (const zone of [ownZone, ...Intl.supportedValuesOf("timeZone")]) {
    const name = NEW_NAMES[zone] ?? zone;
    if (!zone || offered.has(zone) || (zone !== ownZone && offered.has(name))) continue;
    all.append(new Option(name.replaceAll("_", " "), zone));
    offered.add(zone).add(name);
  }
  all.append(...[...all.children].sort((one, other) => one.text.localeCompare(other.text)));
  select.append(common, all);
  select.value = chosen;
}

function applyOwnZone() {
  const select = document.getElementById("timezone");
  if (!ownZone || !select || select.value === ownZone || new URLSearchParams(location.search).has("timezone")) return;
  select.value = ownZone;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

// The chart

const grouped = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact" });
const separate = (text, [thousands, decimal]) => text.replace(/[,.]/g, (sign) => (sign === "," ? thousands : decimal));
const number = (value, separators) => (value === null ? "few" : separate(grouped.format(value), separators)); // shares hide small numbers
let chart = null;

function draw() {
  chart?.destroy();
  chart = null;
  const element = document.querySelector("[data-chart]");
  if (!element || !window.uPlot) return;
  const series = JSON.parse(element.parentElement.querySelector(".chart-data").textContent);
  const readout = document.createElement("p");
  readout.className = "readout";
  element.replaceChildren(readout);
  chart = new uPlot(options(series, element, readout), columns(series), element);
}

// The last entry of a range until now is not over: the line to it is dashed.
function columns({ at, values, before, isUntilNow }) {
  const last = at.length - 1;
  const isOpen = isUntilNow && last > 0;
  const over = values.map((value, index) => (isOpen && index === last ? null : value));
  const open = values.map((value, index) => (isOpen && index >= last - 1 ? value : null));
  return [at, over, open, at.map((_, index) => before[index] ?? null)];
}

function options(series, element, readout) {
  const names = [...element.parentElement.querySelectorAll("tbody th")].map((cell) => cell.textContent); // of the table
  const grid = { stroke: token("--line"), width: 1 };
  const axis = { stroke: token("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false } };
  const dots = { show: series.at.length < 3, size: 7 };
  const line = { stroke: token("--accent"), width: 2, points: dots };
  return {
    width: element.clientWidth,
    height: 224,
    legend: { show: false },
    cursor: { y: false, move: snap, drag: { x: true, y: false, setScale: false, dist: 8 }, points: { size: 7 } },
    scales: { x: { time: false, range: (_, from, to) => (from === to ? [from - 1, to + 1] : [from, to]) }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.08)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 32, space: 76, splits: (plot) => ticks(plot, series.at), values: (_, at) => at.map((time) => series.ticks[series.at.indexOf(time)]) },
      { ...axis, grid, size: 44, space: 34, incrs: wholeSteps(), values: (_, values) => values.map((value) => separate(compact.format(value), series.separators)) },
    ],
    series: [
      {},
      { ...line, fill: token("--accent-soft") },
      { ...line, dash: [6, 5] },
      { stroke: token("--muted"), width: 1.5, dash: [4, 4], points: { ...dots, stroke: token("--muted") } },
    ],
    hooks: {
      setCursor: [(plot) => updateReadout(plot.cursor.idx, series, readout, names)],
      ready: [() => updateReadout(null, series, readout, names)],
      setSelect: [(plot) => zoom(plot, series, element)],
      draw: [(plot) => drawMarks(plot, series)],
    },
  };
}

// Changes of the link: triangles above the time axis.
function drawMarks({ ctx, bbox, valToPos }, { at, marks = [] }) {
  const size = 4 * devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  ctx.fillStyle = token("--text");
  for (const [index] of marks) {
    const x = valToPos(at[index], "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bottom - 2 * size);
    ctx.lineTo(x + size, bottom);
    ctx.lineTo(x - size, bottom);
    ctx.fill();
  }
}

function snap(plot, left, top) {
  const at = plot.data[0][plot.posToIdx(left)];
  return left < 0 || at === undefined ? [left, top] : [plot.valToPos(at, "x"), top];
}

// Dragging over entries shows their days.
function zoom(plot, { days, lastDays }, element) {
  if (!plot.select.width) return;
  const [first, last] = [plot.select.left, plot.select.left + plot.select.width].map((left) => plot.posToIdx(left));
  const url = new URL(element.dataset.zoom, location);
  url.searchParams.set("from", days[first]);
  url.searchParams.set("to", lastDays[last]);
  const link = Object.assign(document.createElement("a"), { href: url.pathname + url.search });
  element.append(link);
  window.htmx.process(link);
  link.click();
}

// As many of the entries as fit, evenly, the first and the last not cut off.
function ticks(plot, at) {
  const capacity = Math.max(1, Math.floor(plot.bbox.width / devicePixelRatio / 84));
  const step = Math.max(1, Math.ceil(at.length / capacity));
  const first = at.length > capacity ? Math.floor(step / 2) : 0;
  return at.filter((_, index) => index % step === first);
}

const wholeSteps = () => [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500].concat(
  [1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((size) => [size, 2 * size, 2.5 * size, 5 * size]),
);

function updateReadout(index, series, readout, names) {
  const part = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text;
    return span;
  };
  const isChosen = index !== null && index !== undefined;
  const parts = [part("key", isChosen ? `${number(series.values[index], series.separators)} ${series.name}` : series.name)];
  if (series.before.length) {
    const before = isChosen && series.before[index] !== undefined ? `${number(series.before[index], series.separators)} in ` : "";
    parts.push(part("key dashed", before + series.beforeDates));
  }
  for (const [at, text] of series.marks ?? []) {
    if (at === index) parts.push(part("mark", text));
  }
  if (isChosen) parts.unshift(part("when", names[index]));
  readout.replaceChildren(...parts);
}

new ResizeObserver(() => {
  const element = document.querySelector("[data-chart]");
  if (chart && element?.clientWidth && chart.width !== element.clientWidth) {
    chart.setSize({ width: element.clientWidth, height: chart.height });
  }
}).observe(document.querySelector("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// Clicks as they arrive: rows on top, and statistics at most once in three seconds

const MAX_ROWS = 12;
const REFRESH_INTERVAL = 3000;
const latest = document.querySelector("[data-live]");
let stream = null;
let refreshing = null;
let isStale = false;

function listen() {
  stream = new EventSource(latest.dataset.live);
  const badge = latest.querySelector("[data-live-badge]");
  for (const state of badge ? ["open", "error"] : []) stream.addEventListener(state, () => { badge.hidden = state !== "open"; });
  stream.addEventListener("clicks", (event) => addClicks(event.data));
}

function addClicks(html) {
  const list = document.getElementById("clicks");
  if (!list && html) location.reload(); // the first click of the account
  if (!list) return;
  const template = document.createElement("template");
  template.innerHTML = html;
  const known = new Set([...list.children].map((row) => row.dataset.click));
  const fresh = [...template.content.children].filter((row) => !known.has(row.dataset.click));
  if (!fresh.length) return;
  for (const row of fresh) row.classList.add("fresh");
  list.prepend(...fresh);
  while (list.children.length > MAX_ROWS) list.lastElementChild.remove();
  document.getElementById("no-clicks").hidden = true;
  updateTimes();
  refresh();
}

async function refresh() {
  isStale = true;
  if (refreshing || !document.querySelector("[data-refresh=on]")) return;
  refreshing = setTimeout(() => {
    refreshing = null;
    if (isStale) refresh();
  }, REFRESH_INTERVAL);
  isStale = false;
  const url = location.href;
  const response = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!response.ok || url !== location.href) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const parts = [...fresh.querySelectorAll("[data-fresh]")];
  const statistics = document.getElementById("statistics");
  if (parts.every((part) => document.getElementById(part.id))) {
    for (const part of parts) replace(part);
  } else if (statistics && !statistics.contains(document.activeElement)) { // the first click: now there is something to list
    const replacement = fresh.getElementById("statistics");
    statistics.replaceWith(replacement);
    window.htmx?.process(replacement);
    setUp();
  }
}

// Elements that have the focus or are being read are not replaced.
function replace(part) {
  const old = document.getElementById(part.id);
  const isRead = old.matches("#series:hover") || old.contains(document.activeElement) || old.querySelector("details[open]");
  if (isRead) return;
  old.replaceWith(part);
  window.htmx?.process(part);
  showLists(part);
  if (part.querySelector("[data-chart]")) draw();
}

if (latest && window.EventSource) {
  listen();
  document.addEventListener("visibilitychange", () => {
    stream.close();
    if (!document.hidden) listen();
  });
  setInterval(updateTimes, 15000);
}

// The list that each card shows, also when the cards are replaced.
const shownLists = new Map();

document.addEventListener("change", ({ target }) => {
  if (target.matches(".switch input")) shownLists.set(target.name, target.value);
});

function showLists(within) {
  for (const choice of within.querySelectorAll(".switch input")) {
    if (shownLists.get(choice.name) === choice.value) choice.checked = true;
  }
}

function setUp() {
  offerZones();
  draw();
}

// A link that had the focus may be gone: then the filters get it.
let hadFocus = false;

document.addEventListener("htmx:beforeSwap", ({ target }) => { hadFocus = target.contains(document.activeElement); });
document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (hadFocus && document.activeElement === document.body) document.getElementById("filters")?.focus();
  showLists(target);
  offerZones();
  if (target.querySelector("[data-chart]")) draw();
});
setUp();
document.addEventListener("DOMContentLoaded", applyOwnZone); // htmx listens from then on
