// Menu "Waypost" for Google Sheets: shortens the URLs in the selected column, into the column on its right.
// Paste it under Extensions → Apps Script, save it, and reload the spreadsheet.

const LINKS_PER_REQUEST = 100;
const MAX_MINUTES = 4; // Apps Script ends a script after six
const MAX_ATTEMPTS = 5;

function onOpen() {
  SpreadsheetApp.getUi()
    .createMenu("Waypost")
    .addItem("Shorten selected URLs", "shortenSelection")
    .addItem("Settings", "askForSettings")
    .addToUi();
}

// The settings are yours: other editors of the spreadsheet cannot read them, and enter their own.
function askForSettings() {
  const ui = SpreadsheetApp.getUi();
  const questions = [
    ["BASE_URL", "Address of your Waypost, such as https://go.example.com"],
    ["API_KEY", "API key with the scope links:write"],
  ];
  for (const [name, question] of questions) {
    const answer = ui.prompt("Waypost", question, ui.ButtonSet.OK_CANCEL);
    if (answer.getSelectedButton() !== ui.Button.OK) return;
    PropertiesService.getUserProperties().setProperty(name, answer.getResponseText().trim().replace(/\/+$/, ""));
  }
}

function shortenSelection() {
  const ui = SpreadsheetApp.getUi();
  try {
    ui.alert(shorten(SpreadsheetApp.getActiveRange(), readSettings()));
  } catch (error) {
    ui.alert(error.message);
  }
}

function readSettings() {
  const { BASE_URL: baseUrl, API_KEY: key } = PropertiesService.getUserProperties().getProperties();
  if (!baseUrl || !key) throw new Error("Enter the address and the API key under Waypost → Settings.");
  if (!/^https:\/\/[^/]+$/.test(baseUrl)) throw new Error("The address must look like https://go.example.com.");
  return { baseUrl, key };
}

// Rows that have something on the right are skipped, so it can be run again after an error.
function shorten(range, settings) {
  if (range.getNumColumns() !== 1) throw new Error("Select the cells with URLs, in one column.");
  const results = range.offset(0, 1);
  const [urls, existing] = [range.getDisplayValues(), results.getDisplayValues()];
  const rows = urls.flatMap(([text], row) => (text.trim() && !existing[row][0] ? [{ row, url: text.trim() }] : []));
  const end = Date.now() + MAX_MINUTES * 60000;
  const counts = { created: 0, refused: 0 };
  let left = rows;
  for (let attempt = 1; left.length && attempt <= MAX_ATTEMPTS && Date.now() < end; attempt += 1) {
    left = shortenOnce(left, results, settings, counts, end);
  }
  const parts = [`Created ${counts.created} of ${rows.length} short URLs.`];
  if (counts.refused) parts.push(`${counts.refused} were refused: the notes of their cells say why.`);
  if (left.length) parts.push(`${left.length} are left: run it again.`);
  return parts.join(" ");
}

// Returns the rows that have to be sent again.
function shortenOnce(rows, results, settings, counts, end) {
  const again = [];
  for (let first = 0; first < rows.length; first += LINKS_PER_REQUEST) {
    const batch = rows.slice(first, first + LINKS_PER_REQUEST);
    if (Date.now() >= end) again.push(...batch);
    else for (const entry of createLinks(batch.map(({ url }) => url), settings)) {
      if (entry.status === "retry") again.push(batch[entry.index]);
      else show(results.getCell(batch[entry.index].row + 1, 1), entry, counts);
    }
  }
  return again;
}

function show(cell, { link, errors }, counts) {
  if (link) cell.setValue(`https://${link.short_url}`);
  cell.setNote(link ? "" : Object.values(errors).flat().join("\n"));
  counts[link ? "created" : "refused"] += 1;
}

function createLinks(urls, { baseUrl, key }) {
  const request = {
    method: "post",
    contentType: "application/json",
    headers: { Accept: "application/json", Authorization: `Bearer ${key}`, "Idempotency-Key": Utilities.getUuid() },
    payload: JSON.stringify({ links: urls.map((url) => ({ destination_url: url })) }),
    muteHttpExceptions: true,
    followRedirects: false,
  };
  for (let attempt = 1; ; attempt += 1) {
    const response = UrlFetchApp.fetch(`${baseUrl}/api/v1/links/bulk`, request);
    const status = response.getResponseCode();
    const answer = parse(response.getContentText());
    if (status === 200 && answer && answer.data) return answer.data;
    if ((status !== 429 && status < 500) || attempt === MAX_ATTEMPTS) {
      const reason = answer && answer.error ? answer.error.message : `This is not Waypost (status ${status}). Check the settings.`;
      throw new Error(`Waypost refused the request: ${reason}`);
    }
    const wait = Number(response.getHeaders()["Retry-After"]) || 2 ** attempt;
    Utilities.sleep(1000 * Math.min(wait, 60));
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
