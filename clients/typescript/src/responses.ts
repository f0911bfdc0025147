/** What a response means: JSON, or an error. */

import { parseRetryAfter } from "./attempts.js";
import {
  type ErrorDetails,
  Forbidden,
  NotFound,
  PaymentRequired,
  RateLimited,
  ServerError,
  Unauthenticated,
  UnexpectedResponse,
  ValidationError,
  WaypostError,
} from "./errors.js";

/** A complete response. */
export interface Answer {
  readonly method: string;
  readonly url: URL;
  readonly response: Response;
  /** Text, or the bytes of a file. */
  readonly content: string | Uint8Array<ArrayBuffer>;
}

const TEXT_LIMIT = 500;

/** Return the JSON, which is undefined for an empty response. Throws WaypostError. */
export function readJson(answer: Answer): Record<string, unknown> | undefined {
  const { response } = answer;
  if (!response.ok) {
    throw errorOf(answer);
  }
  if (response.status === 204) {
    return undefined;
  }
  const json = parse(answer);
  if (json === undefined) {
    throw unexpected(answer);
  }
  return json;
}

/** Return `data` of the JSON, where results are. Throws WaypostError. */
export function readData(answer: Answer): unknown {
  const json = readJson(answer);
  if (json && !("data" in json)) {
    throw unexpected(answer);
  }
  return json?.["data"];
}

/** Return the JSON of many objects, with `data` and `meta`. Throws WaypostError. */
export function readMany(answer: Answer): Record<string, unknown> | undefined {
  const json = readJson(answer);
  if (!Array.isArray(json?.["data"]) || !isObject(json["meta"])) {
    throw unexpected(answer);
  }
  return json;
}

/** Return the content of a file. Throws WaypostError. */
export function readFile(answer: Answer): Uint8Array<ArrayBuffer> {
  if (!answer.response.ok) {
    throw errorOf(answer);
  }
  return answer.content as Uint8Array<ArrayBuffer>;
}

export function retryAfter(response: Response): number | undefined {
  return parseRetryAfter(response.headers.get("Retry-After"));
}

/** Return the object of the body; undefined if it is none. */
function parse(answer: Answer): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(String(answer.content));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function errorOf(answer: Answer): WaypostError {
  const { status, statusText } = answer.response;
  const json = parse(answer);
  // a name that cannot be a domain gets 406, whose body is the message
  const body = status === 406 ? json : json?.["error"];
  const isOurs = isObject(body) && "message" in body;
  if (!isOurs && status < 500 && status !== 429) {
    return unexpected(answer);
  }
  const { message, code, errors } = (isOurs ? body : {}) as { message?: unknown; code?: string } & ErrorDetails;
  const text = String(message ?? `The service answered ${[status, statusText].join(" ").trim()}.`);
  const details: ErrorDetails = { status, code, errors, retryAfter: retryAfter(answer.response) };
  switch (status) {
    case 401:
      return new Unauthenticated(text, details);
    case 402:
      return new PaymentRequired(text, details);
    case 403:
      return new Forbidden(text, details);
    case 404:
      return new NotFound(text, details);
    case 406:
      return new ValidationError(text, { ...details, errors: errors ?? { hostname: [text] } });
    case 422:
      return new ValidationError(text, details);
    case 429:
      return new RateLimited(text, details);
    default:
      return status >= 500 ? new ServerError(text, details) : new WaypostError(text, details);
  }
}

function unexpected({ method, url, response }: Answer): UnexpectedResponse {
  const { status, statusText, headers } = response;
  const kind = (headers.get("Content-Type") ?? "no content type").split(";", 1)[0];
  const location = headers.get("Location");
  // browsers hide where a redirect leads
  const isRedirect = location !== null || response.type === "opaqueredirect";
  const answered = `${[status, statusText].join(" ").trim()}${kind === "text/html" ? " with a page" : ""} (${kind})`;
  const what = isRedirect ? `a redirect${location === null ? "" : ` to ${short(location)}`}` : answered;
  return new UnexpectedResponse(
    `${method} ${url.origin}${url.pathname} got ${what}, which is not a response of Waypost's API. ` +
      "Check baseUrl: it is the origin of the service, such as https://go.example.com.",
    { status },
  );
}

function short(text: string): string {
  return text.length <= TEXT_LIMIT ? text : `${text.slice(0, TEXT_LIMIT)}…`;
}
