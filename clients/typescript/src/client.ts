/** The client. */

import { readJson } from "./responses.js";
import { Account, Clicks, Domains, Keys, Links, Pixels, Qrcodes, Shares, Stats, Tags, Templates, Webhooks } from "./resources.js";
import { type CreateOptions, type Query, Sender, type WaypostOptions } from "./sender.js";

/**
 * A client of one service and API key. Calls may run at the same time.
 *
 * A request is sent again after a fault of the network and after 429, 502, 503 and 504, with at most 60 seconds of
 * waiting in all.
 */
export class Waypost {
  readonly account: Account;
  readonly clicks: Clicks;
  readonly domains: Domains;
  readonly keys: Keys;
  readonly links: Links;
  readonly pixels: Pixels;
  readonly qrcodes: Qrcodes;
  readonly shares: Shares;
  readonly templates: Templates;
  readonly stats: Stats;
  readonly tags: Tags;
  readonly webhooks: Webhooks;
  readonly #sender: Sender;

  constructor(options: WaypostOptions) {
    const sender = (this.#sender = new Sender(options));
    this.account = new Account(sender);
    this.clicks = new Clicks(sender);
    this.domains = new Domains(sender);
    this.keys = new Keys(sender);
    this.links = new Links(sender);
    this.pixels = new Pixels(sender);
    this.qrcodes = new Qrcodes(sender);
    this.shares = new Shares(sender);
    this.templates = new Templates(sender);
    this.stats = new Stats(sender);
    this.tags = new Tags(sender);
    this.webhooks = new Webhooks(sender);
  }

  /**
   * Send a request that has no method here, and return its JSON.
   *
   * @param path - What follows `/api/v1`, such as `/links`.
   */
  request<T = unknown>(
    method: string,
    path: string,
    { query, body, ...options }: CreateOptions & { query?: Query; body?: object } = {},
  ): Promise<T> {
    return this.#sender.send(readJson, method, path, { query, body }, options);
  }
}
