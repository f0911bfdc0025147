// The settings, which stay in this browser: the address of the service, an API key, and a custom domain.
import { Waypost } from "@waypost/client";

// Firefox has both names, and promises in this one only
export const browser = globalThis.browser ?? globalThis.chrome;

export async function load() {
  return (await browser.storage.local.get("settings")).settings ?? null;
}

export const save = (settings) => browser.storage.local.set({ settings });

export const clientOf = ({ baseUrl, apiKey }) => new Waypost({ baseUrl, apiKey, timeout: 20_000 });

// Throws an error that says what is wrong.
export function originOf(text) {
  const address = text.includes("://") ? text : `https://${text}`;
  if (!URL.canParse(address)) throw new Error("Enter the address of your Waypost, such as https://go.example.com.");
  const url = new URL(address);
  const isLocal = ["localhost", "127.0.0.1"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal)) {
    throw new Error("The address must begin with https://, to protect the API key.");
  }
  return url.origin;
}

const ADVICE = {
  Unauthenticated: "Check the API key in the settings: it is wrong, expired or revoked.",
  Forbidden: "Create an API key with the scopes links:read and links:write.",
  ConnectionFailed: "The service does not answer. Check your connection, and the address in the settings.",
  UnexpectedResponse: "There is no Waypost at the address in the settings.",
};

export const explain = (error) => ADVICE[error.name] ?? error.message;
