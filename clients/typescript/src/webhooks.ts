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
 * A delivery can arrive more than once: its attempts have the same `id`. A newer service may send events of other
 * types.
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
  const [signedAt, signature] = readSignature(headers);
  if (!(await isSigned(content, signedAt, signature, secret))) {
    throw new SignatureError("The signature does not match: the secret is another one, or the body was changed.");
  }
  if (!(Math.abs(Date.now() / 1000 - Number(signedAt)) <= tolerance)) {
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

function readSignature(headers: WebhookHeaders): [signedAt: string, signature: string] {
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  const values = entries.flatMap(([name, value]) => (name.toLowerCase() === "x-signature" ? (value ?? []) : []));
  const [first] = values;
  if (first === undefined || values.length > 1) {
    throw new SignatureError(`The request needs one X-Signature header, and has ${values.length}.`);
  }
  const [, signedAt, signature] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(first) ?? [];
  if (signedAt === undefined || signature === undefined) {
    throw new SignatureError("The X-Signature header is malformed.");
  }
  return [signedAt, signature];
}

/** Compare in constant time. */
async function isSigned(content: Uint8Array, signedAt: string, signature: string, secret: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["verify"]);
  const start = encoder.encode(`${signedAt}.`);
  const signed = new Uint8Array(start.length + content.length);
  signed.set(start);
  signed.set(content, start.length);
  const expected = Uint8Array.from(signature.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return crypto.subtle.verify("HMAC", key, expected, signed);
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
