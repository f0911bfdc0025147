/**
 * When a request is sent again, and after how long.
 *
 * All requests may be sent again: `GET`, `PUT`, `PATCH` and `DELETE` lead to the same state, and each `POST` has an
 * `Idempotency-Key`.
 */

/** Statuses after which a request is sent again; 502 and 504 are those of proxies whose service restarts. */
export const BUSY: readonly number[] = [429, 502, 503, 504];
/** After which nobody knows whether the service has processed the request. */
export const UNCERTAIN: readonly number[] = [502, 504];
const FIRST_WAIT = 0.5;
/** Seconds that a call waits between attempts, in all. */
const MAX_WAIT = 60;

/** What tests replace. */
export const clock = {
  /** Wait, and reject with the reason of the signal if it is aborted meanwhile. */
  sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        if (signal?.aborted) {
          reject(signal.reason);
        } else {
          resolve();
        }
      };
      const timer = setTimeout(end, seconds * 1000);
      signal?.addEventListener("abort", end);
      if (signal?.aborted) {
        end();
      }
    });
  },
};

/** The attempts of one call. */
export class Attempts {
  readonly #retries: number;
  #done = 0;
  #left = MAX_WAIT;

  constructor(retries: number) {
    this.#retries = retries;
  }

  /** Return the seconds to wait before the next attempt; undefined if there is none. */
  wait(retryAfter?: number): number | undefined {
    // a random part, so that clients which failed together do not return together
    const seconds = retryAfter ?? FIRST_WAIT * 2 ** this.#done * (0.75 + Math.random() / 2);
    if (this.#done >= this.#retries || seconds > this.#left) {
      return undefined;
    }
    this.#done += 1;
    this.#left -= seconds;
    return seconds;
  }
}

/** Return the seconds that `Retry-After` asks for, as a number or a date. Undefined if it is missing or malformed. */
export function parseRetryAfter(value: string | null): number | undefined {
  if (value === null || /^\s*\d+\s*$/.test(value)) {
    return value === null ? undefined : Number(value);
  }
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}
