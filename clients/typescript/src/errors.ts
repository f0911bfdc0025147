/** The errors with which calls are rejected. All are a `WaypostError`. */

import type { ErrorCode } from "./types.js";

/** What is known of an error beside its message. */
export interface ErrorDetails {
  /** HTTP status. */
  status?: number | undefined;
  /** Code for programs, such as `not_found`. */
  code?: string | undefined;
  /** The problems of each field. */
  errors?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Seconds after which the request may be sent again. */
  retryAfter?: number | undefined;
  /** What led to the error. */
  cause?: unknown;
}

/** Something went wrong. Errors without a class of their own have a `status`, such as 413. */
export class WaypostError extends Error {
  /** HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** Code for programs, such as `not_found`; undefined if the service did not send one. */
  readonly code: ErrorCode | (string & {}) | undefined;
  /** Seconds after which the request may be sent again; undefined if the service did not say. */
  readonly retryAfter: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.status = details.status;
    this.code = details.code;
    this.retryAfter = details.retryAfter;
  }

  // a literal, because names of classes are lost when a bundle is minified
  override get name(): string {
    return "WaypostError";
  }
}

/** The service refused the request. `errors` has the problems of each field. */
export class ValidationError extends WaypostError {
  readonly errors: Readonly<Record<string, readonly string[]>>;

  constructor(message: string, details: ErrorDetails = {}) {
    const errors = details.errors ?? {};
    super([message, ...Object.entries(errors).map(([field, each]) => `${field}: ${each.join(" ")}`)].join(" "), details);
    this.errors = errors;
  }

  override get name(): string {
    return "ValidationError";
  }
}

/** The API key is missing, wrong, revoked or expired. */
export class Unauthenticated extends WaypostError {
  override get name(): string {
    return "Unauthenticated";
  }
}

/** The account has no active plan. */
export class PaymentRequired extends WaypostError {
  override get name(): string {
    return "PaymentRequired";
  }
}

/** The API key lacks a scope, or the person who created it lacks a role. */
export class Forbidden extends WaypostError {
  override get name(): string {
    return "Forbidden";
  }
}

/** There is no such object in the account. */
export class NotFound extends WaypostError {
  override get name(): string {
    return "NotFound";
  }
}

/** Too many requests with this API key, and waiting would have taken too long. */
export class RateLimited extends WaypostError {
  override get name(): string {
    return "RateLimited";
  }
}

/** The service failed, or is busy or unavailable. */
export class ServerError extends WaypostError {
  override get name(): string {
    return "ServerError";
  }
}

/** There was no complete response: the connection failed or took too long. */
export class ConnectionFailed extends WaypostError {
  override get name(): string {
    return "ConnectionFailed";
  }
}

/** The response is not one of Waypost, for example because `baseUrl` is wrong. */
export class UnexpectedResponse extends WaypostError {
  override get name(): string {
    return "UnexpectedResponse";
  }
}

/** The request is not a genuine or not a recent delivery of the webhook. */
export class SignatureError extends WaypostError {
  override get name(): string {
    return "SignatureError";
  }
}
