/** Verifies and reads the requests that webhooks receive. */

import { SignatureError } from "./errors.js";
import type { WebhookEvent } from "./types.js";

/** Headers as any framework has them: `Headers`, an object, or pairs. */
export type WebhookHeaders =
  | Iterable<readonly [name: string, value: string | readonly string[] | undefined]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Return the event of a request that a webhook received. Rejects with SignatureError if it is not genuine.
 *
 * The signature is that of `X-Signature` or, without it, that of Standard Webhooks (`webhook-signature`). A delivery can
 * arrive more than once: its attempts have the same `id`. A newer service may send events of other types.
 *
 * @param body - The raw body. JSON that was parsed and written again has other bytes and does not match.
 * @param headers - The headers of the request, in any case.
 * @param secret - The signing secret of the webhook, such as `whsec_…`.
 * @param options - `tolerance`: seconds that the time of the signature may differ from the clock of this machine;
 *   default: 300.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string,
  { tolerance = 300 }: { tolerance?: number | undefined } = {},
): Promise<WebhookEvent> {
  const content = contentOf(body);
  if (typeof secret !== "string" || !secret) {
    throw new TypeError("secret must be the signing secret of the webhook, such as whsec_…, and not empty.");
  }
  const signed = readSignature(headers, secret);
  if (!(await isSigned(content, signed))) {
    throw new SignatureError("The signature does not match: the secret is another one, or the body was changed.");
  }
  if (!(Math.abs(Date.now() / 1000 - Number(signed.at)) <= tolerance)) {
    throw new SignatureError(`The signature is more than ${tolerance} seconds from the clock of this machine.`);
  }
  return readEvent(content);
}

function contentOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === "string") {
    return new TextEncoder().encode(body);
  }
  if (body instanceof ArrayBuffer) {
    return new Uint8Array(body);
  }
  if (!ArrayBuffer.isView(body)) {
    throw new TypeError("body must be the raw body of the request, before it is parsed: bytes or text.");
  }
  return body;
}

interface Signed {
  /** Seconds since 1970. */
  at: string;
  /** What is signed before the body. */
  start: string;
  key: Uint8Array<ArrayBuffer>;
  /** One of these must be right. */
  digests: Uint8Array<ArrayBuffer>[];
}

function readSignature(headers: WebhookHeaders, secret: string): Signed {
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  const valuesOf = (header: string) =>
    entries.flatMap(([name, value]) => (name.toLowerCase() === header ? (value ?? []) : []));
  const only = (header: string): string => {
    const values = valuesOf(header.toLowerCase());
    if (values.length !== 1) {
      throw new SignatureError(`The request needs one ${header} header, and has ${values.length}.`);
    }
    return values[0] ?? "";
  };
  if (valuesOf("x-signature").length || !valuesOf("webhook-signature").length) {
    const [, at, digest] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(only("X-Signature")) ?? [];
    if (at === undefined || digest === undefined) {
      throw new SignatureError("The X-Signature header is malformed.");
    }
    const bytes = Uint8Array.from(digest.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
    return { at, start: `${at}.`, key: new TextEncoder().encode(secret), digests: [bytes] };
  }
  const [id, at] = [only("Webhook-Id"), only("Webhook-Timestamp")];
  const digests = only("Webhook-Signature")
    .split(" ")
    .flatMap((each) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(each)?.[1] ?? []);
  if (!/^[0-9]{1,12}$/.test(at) || !digests.length) {
    throw new SignatureError("The headers of Standard Webhooks are malformed, or have no signature of version v1.");
  }
  const [, key] = /^whsec_([A-Za-z0-9+/]{43}=)$/.exec(secret) ?? [];
  if (key === undefined) {
    throw new SignatureError("The secret is older than Standard Webhooks: verify X-Signature.");
  }
  return { at, start: `${id}.${at}.`, key: decode(key), digests: digests.map(decode) };
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Compare in constant time. */
async function isSigned(content: Uint8Array, { start, key, digests }: Signed): Promise<boolean> {
  const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const head = new TextEncoder().encode(start);
  const signed = new Uint8Array(head.length + content.length);
  signed.set(head);
  signed.set(content, head.length);
  const isRight = await Promise.all(digests.map((digest) => crypto.subtle.verify("HMAC", hmac, digest, signed)));
  return isRight.includes(true);
}

function readEvent(content: Uint8Array): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content)) as WebhookEvent;
    if (typeof event.event === "string" && typeof event.id === "string" && typeof event.data === "object") {
      return event;
    }
  } catch {
    // as below
  }
  throw new SignatureError("The signature is right, but the body is not an event.");
}
