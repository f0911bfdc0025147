/** Sends requests: builds them, sends them again after faults, and reads the responses. */

import { Attempts, BUSY, clock, UNCERTAIN } from "./attempts.js";
import { ConnectionFailed } from "./errors.js";
import { type Listed, type Page, Pages } from "./pages.js";
import { type Answer, readFile, readMany, retryAfter } from "./responses.js";
import { VERSION } from "./version.js";

const PREFIX = "/api/v1/";
/** Milliseconds. The service visits the destinations of new links: many at once may take half a minute. */
const TIMEOUT = 60_000;
/** More would end a timer at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;
const FILE_FIELDS = ["og_image_file", "file"];

/** What a client needs to know of the service. */
export interface WaypostOptions {
  /** Origin of the service, such as `https://go.example.com`. */
  baseUrl: string | URL;
  /** API key, such as `wp_live_…`. */
  apiKey: string;
  /** Milliseconds that each attempt may take, until the response is complete; default: 60,000. */
  timeout?: number | undefined;
  /** How often a request is sent again after faults, and after 429, 502, 503 and 504; default: 3. */
  retries?: number | undefined;
  /** Replaces the global `fetch`, for proxies or certificates of your own. */
  fetch?: typeof fetch | undefined;
}

/** Options of a single call. */
export interface CallOptions {
  /** Cancels the call, which is then rejected with the reason of the signal. */
  signal?: AbortSignal | null | undefined;
  /** Milliseconds that each attempt may take; default: that of the client. */
  timeout?: number | undefined;
}

/** Options of a call that changes or deletes an object. */
export interface ChangeOptions extends CallOptions {
  /** `etagOf` the object that was read: if it has changed since, the call is rejected with the status 412. */
  ifMatch?: string | undefined;
}

/** Options of a call that creates something. */
export interface CreateOptions extends CallOptions {
  /** Header `Idempotency-Key`, to repeat a call in another process; default: a new one for each call. */
  idempotencyKey?: string | undefined;
}

/** An image: a `Blob` or `File`, or its bytes. */
export type ImageFile = Blob | ArrayBuffer | ArrayBufferView;

/** Values by name, of which undefined and null are not sent. */
export type Query = object;

const etags = new WeakMap<object, string>();

/** Return the version of an object that `get…` or `update…` has returned, for `ifMatch`. */
export function etagOf(object: object): string | undefined {
  return etags.get(object);
}

interface Content {
  query?: Query | undefined;
  body?: object | undefined;
}

interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: BodyInit;
  readonly isFile?: boolean;
}

/** Join a path, whose values become segments. Return "" if one is missing, which would lead to another endpoint. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  const isComplete = values.every((value) => typeof value === "string" && !["", ".", ".."].includes(value));
  return isComplete ? String.raw({ raw: texts }, ...values.map(encodeURIComponent)) : "";
}

export class Sender {
  // private, so that nothing which prints a client shows the key
  readonly #origin: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch | undefined;

  constructor({ baseUrl, apiKey, timeout = TIMEOUT, retries = 3, fetch }: WaypostOptions) {
    this.#origin = originOf(baseUrl);
    this.#key = typeof apiKey === "string" ? apiKey.trim() : ""; // of the line that ends a file
    if (!/^[!-~]+$/.test(this.#key)) {
      throw new TypeError("apiKey needs an API key, such as wp_live_….");
    }
    this.#timeout = checkedTimeout(timeout);
    this.#retries = retries;
    this.#fetch = fetch;
  }

  /** Return what `read` makes of the response. */
  async send<T>(
    read: (answer: Answer) => unknown,
    method: string,
    path: string,
    content: Content = {},
    options?: CreateOptions & ChangeOptions,
  ): Promise<T> {
    const answer = await this.#respond(await this.#build(method, path, content, options), options);
    const result = read(answer);
    const etag = answer.response.headers.get("ETag");
    if (etag && result instanceof Object) {
      etags.set(result, etag);
    }
    return result as T;
  }

  pages<T extends Listed>(path: string, query: Query | undefined, options?: CallOptions): Pages<T> {
    return new Pages((query) => this.send<Page<T>>(readMany, "GET", path, { query }, options), query);
  }

  /** Return the file that an endpoint makes. */
  async fetchFile(
    method: string,
    path: string,
    body: object,
    options?: CallOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const request = await this.#build(method, path, { body }, options);
    return readFile(await this.#respond({ ...request, isFile: true }, options));
  }

  /** Return the file at a signed URL, which gets no API key: it may be on another host. */
  async download(url: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    if (!/^https?:/i.test(url) || !URL.canParse(url)) {
      throw new TypeError(`${url} is not the URL of an image, such as image_url of a QR code.`);
    }
    const request = { method: "GET", url: new URL(url), headers: newHeaders("*/*"), isFile: true };
    return readFile(await this.#respond(request, options));
  }

  async #build(
    method: string,
    path: string,
    { query, body }: Content,
    options?: CreateOptions & ChangeOptions,
  ): Promise<Outgoing> {
    if (!path) {
      throw new TypeError("An ID must be a text that is not empty.");
    }
    const url = new URL(PREFIX + path.replace(/^\/+/, ""), this.#origin);
    for (const [name, value] of query ? entriesOf(query) : []) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== null) {
          url.searchParams.append(name, String(each));
        }
      }
    }
    const headers = newHeaders("application/json");
    headers.set("Authorization", `Bearer ${this.#key}`);
    if (method === "POST") {
      headers.set("Idempotency-Key", options?.idempotencyKey ?? newKey());
    }
    if (options?.ifMatch !== undefined) {
      headers.set("If-Match", options.ifMatch);
    }
    if (!body) {
      return { method, url, headers };
    }
    const sent = Object.entries(body);
    const fields = Object.fromEntries(sent.filter(([name]) => !FILE_FIELDS.includes(name)));
    const [fileField, file] = sent.find(([name, value]) => FILE_FIELDS.includes(name) && value) ?? [];
    if (!fileField) {
      headers.set("Content-Type", "application/json");
      return { method, url, headers, body: JSON.stringify(fields, refuseInvalid) };
    }
    // encoded once: a request that is sent again must have the same bytes
    const form = new Response(toForm(fileField, file as ImageFile, fields));
    headers.set("Content-Type", form.headers.get("Content-Type") ?? "");
    return { method, url, headers, body: await form.arrayBuffer() };
  }

  /** Send the request until there is a response to return. */
  async #respond(request: Outgoing, options: CallOptions = {}): Promise<Answer> {
    const attempts = new Attempts(this.#retries);
    const timeout = checkedTimeout(options.timeout ?? this.#timeout);
    const signal = options.signal ?? undefined;
    let isUncertain = false;
    for (;;) {
      signal?.throwIfAborted();
      const answer = await this.#attempt(request, timeout, signal).catch((error: unknown) => toFault(error, signal));
      let seconds: number | undefined;
      if (answer instanceof Fault) {
        isUncertain = true;
        seconds = attempts.wait();
        if (seconds === undefined) {
          const where = `${request.method} ${request.url.origin}${request.url.pathname}`;
          throw new ConnectionFailed(`${where} failed: ${answer.message}`, { cause: answer.cause });
        }
      } else {
        const { response } = answer;
        const after = retryAfter(response);
        // 409: an earlier attempt with the same Idempotency-Key is still running
        if (BUSY.includes(response.status) || (response.status === 409 && after !== undefined)) {
          isUncertain ||= UNCERTAIN.includes(response.status);
          seconds = attempts.wait(after);
        }
        if (seconds === undefined) {
          // an earlier attempt, whose response was lost, has deleted the object
          const isDeleted = isUncertain && request.method === "DELETE" && response.status === 404;
          return isDeleted ? { ...answer, response: new Response(null, { status: 204 }) } : answer;
        }
      }
      await clock.sleep(seconds, signal);
    }
  }

  async #attempt({ url, isFile, ...request }: Outgoing, timeout: number, signal?: AbortSignal): Promise<Answer> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    const expire = (): void => controller.abort(new Error(`there was no complete response within ${timeout} ms`));
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(expire, timeout);
    try {
      // without `this`, which browsers refuse; a redirect is a wrong baseUrl, and would change the method
      const send = this.#fetch ?? fetch;
      const response = await send(url, { ...request, signal: controller.signal, redirect: "manual" });
      const content = isFile && response.ok ? new Uint8Array(await response.arrayBuffer()) : await response.text();
      return { method: request.method, url, response, content };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Why there was no response. */
class Fault {
  readonly message: string;
  readonly cause: unknown;

  constructor(error: unknown) {
    this.message = reasonOf(error);
    this.cause = error;
  }
}

/** Return the fault of a network. Throws the reason of the signal, if it is aborted. */
function toFault(error: unknown, signal: AbortSignal | undefined): Fault {
  signal?.throwIfAborted();
  return new Fault(error);
}

/** Return what Node.js says in the cause of its errors. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const code = (error as { code?: unknown }).code;
  const own = error.message || String(code ?? error.name);
  return error.cause === undefined ? own : `${own}: ${reasonOf(error.cause)}`;
}

function originOf(baseUrl: string | URL): string {
  const text = String(baseUrl).trim();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.includes("@") || url.href !== `${url.origin}/`) {
    throw new TypeError(`baseUrl is the origin of the service, such as https://go.example.com, and not "${text}".`);
  }
  return url.origin;
}

function checkedTimeout(timeout: number): number {
  if (!(timeout > 0)) {
    throw new TypeError("timeout is a number of milliseconds, and more than 0.");
  }
  return Math.min(timeout, MAX_TIMEOUT);
}

function newHeaders(accept: string): Headers {
  const headers = new Headers({ Accept: accept });
  if (!("document" in globalThis)) {
    headers.set("User-Agent", `waypost-client-typescript/${VERSION}`);
  }
  return headers;
}

/** Return a random key. `crypto.randomUUID` is missing on pages without HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Refuse times and numbers that JSON writes as null, which would remove a value. */
function refuseInvalid(this: unknown, name: string, value: unknown): unknown {
  const given = (this as Record<string, unknown>)[name];
  if ((value === null && given !== null) || (typeof value === "number" && !Number.isFinite(value))) {
    throw new TypeError(`${name} is not a valid ${given instanceof Date ? "time" : "value"}: ${String(given)}.`);
  }
  return value;
}

/** Return the fields with their values as JSON has them, such as text in place of a `Date`. */
function entriesOf(fields: object): [name: string, value: unknown][] {
  return Object.entries(JSON.parse(JSON.stringify(fields, refuseInvalid)) as object);
}

/** Return a form with the file. Empty text means null. */
function toForm(fileField: string, file: ImageFile, fields: Record<string, unknown>): FormData {
  const form = new FormData();
  form.set(fileField, file instanceof Blob ? file : new Blob([file as ArrayBuffer]), "image");
  for (const [name, value] of entriesOf(fields)) {
    if (Array.isArray(value) && value.length > 0) {
      value.forEach((each) => form.append(`${name}[]`, String(each)));
    } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      Object.entries(value).forEach(([key, each]) => form.set(`${name}[${key}]`, String(each ?? "")));
    } else {
      form.set(name, String(value ?? ""));
    }
  }
  return form;
}
