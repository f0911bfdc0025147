// What waypost.gs uses of Google's Apps Script, over a grid of cells. Requests are real. Reads {code, call, cells, notes,
// selection, properties, answers} and prints what is left of them.
const { readFileSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const vm = require("node:vm");

const given = JSON.parse(readFileSync(0));
const { cells, notes = {}, properties = {}, answers = [] } = given;
const shown = { alerts: [], menu: [], slept: [], requests: 0 };

const key = (row, column) => `${row},${column}`;
const range = (row, column, rows, columns) => ({
  getNumColumns: () => columns,
  offset: (down, right) => range(row + down, column + right, rows, columns),
  getDisplayValues: () => Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => String(cells[key(row + r, column + c)] ?? ""))),
  getCell: (r, c) => {
    if (r < 1 || r > rows || c < 1 || c > columns) throw new Error("Cell is outside of the range.");
    return {
      setValue: (value) => void (cells[key(row + r - 1, column + c - 1)] = value),
      setNote: (text) => void (notes[key(row + r - 1, column + c - 1)] = text),
    };
  },
});

// Apps Script waits for answers.
const FETCH = `
const { url, options } = JSON.parse(require("node:fs").readFileSync(0));
fetch(url, options).then(async (response) => {
  const names = { "retry-after": "Retry-After" };
  const headers = Object.fromEntries([...response.headers].map(([name, value]) => [names[name] ?? name, value]));
  console.log(JSON.stringify({ status: response.status, text: await response.text(), headers }));
});`;
const KNOWN = ["method", "contentType", "headers", "payload", "muteHttpExceptions", "followRedirects"];

const ui = {
  ButtonSet: { OK_CANCEL: "OK_CANCEL" },
  Button: { OK: "OK" },
  alert: (text) => shown.alerts.push(text),
  prompt: () => {
    const text = answers.shift();
    return { getSelectedButton: () => (text === null ? "CANCEL" : "OK"), getResponseText: () => text };
  },
  createMenu: (name) => {
    shown.menu.push(name);
    const menu = { addItem: (label, call) => (shown.menu.push([label, call]), menu), addToUi: () => {} };
    return menu;
  },
};
const context = vm.createContext({
  SpreadsheetApp: { getUi: () => ui, getActiveRange: () => range(...given.selection) },
  PropertiesService: {
    getUserProperties: () => ({ getProperties: () => ({ ...properties }), setProperty: (name, value) => void (properties[name] = value) }),
  },
  Utilities: { getUuid: () => randomUUID(), sleep: (milliseconds) => shown.slept.push(milliseconds) },
  UrlFetchApp: {
    fetch: (url, request) => {
      const unknown = Object.keys(request).filter((name) => !KNOWN.includes(name));
      if (unknown.length || !url.startsWith("https://")) throw new Error(`unknown: ${unknown} ${url}`);
      shown.requests += 1;
      const headers = { ...request.headers, "Content-Type": request.contentType };
      const options = { method: request.method.toUpperCase(), headers, body: request.payload, redirect: "manual" };
      const input = JSON.stringify({ url: url.replace("https://sheets.test", given.base_url), options });
      const done = spawnSync(process.execPath, ["-e", FETCH], { input, encoding: "utf8" });
      if (done.status) throw new Error("DNS error or no response");
      const { status, text, headers: received } = JSON.parse(done.stdout);
      return { getResponseCode: () => status, getContentText: () => text, getHeaders: () => received };
    },
  },
});
vm.runInContext(given.code, context);
vm.runInContext(`${given.call}()`, context);
console.log(JSON.stringify({ ...shown, cells, notes, properties }));
