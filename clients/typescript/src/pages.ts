/**
 * Lists, which are read page by page while they are iterated.
 *
 * Pages are numbered, newest first. Objects that are created or deleted during the iteration move the others to other
 * pages. Each object is returned once. None that stays is left out, unless others are created while as many are
 * deleted: deletions are noticed by the total.
 */

import type { Query } from "./sender.js";
import type { PageMeta } from "./types.js";

/** Objects in a page unless `per_page` is given: as many as the service allows. */
const PER_PAGE = 100;

/** An object of a list. Without an id, its path is unique in the list. */
export type Listed = { id: string } | { path: string };

const keyOf = (each: Listed): string => ("id" in each ? each.id : each.path);

/** One page of a list. */
export interface Page<T> {
  data: T[];
  /** Number of the page and of all objects. */
  meta: PageMeta;
}

/** Which page comes next. */
class Position {
  readonly #query: Query;
  readonly #first: number;
  readonly #seen = new Set<string>();
  #page: number;
  #total = 0;
  isAtEnd = false;

  constructor(query: { page?: number | undefined; per_page?: number | undefined }) {
    this.#query = { ...query, per_page: query.per_page ?? PER_PAGE };
    this.#first = this.#page = query.page ?? 1;
  }

  query(): Query {
    return { ...this.#query, page: this.#page };
  }

  /** Go back if objects were deleted meanwhile: those behind them have moved to earlier pages. */
  isTooLate(meta: PageMeta): boolean {
    const gone = this.#total - meta.total;
    this.#total = meta.total;
    if (gone <= 0 || this.#page === this.#first) {
      return false;
    }
    this.#page = Math.max(this.#first, this.#page - Math.ceil(gone / meta.per_page));
    return true;
  }

  /** Go to the next page, and return what is new in this one. */
  advance<T extends Listed>({ data, meta }: Page<T>): T[] {
    this.isAtEnd = meta.current_page >= meta.last_page || data.length === 0;
    this.#page += 1;
    const fresh = data.filter((each) => !this.#seen.has(keyOf(each)));
    fresh.forEach((each) => this.#seen.add(keyOf(each)));
    return fresh;
  }
}

/** All objects of a list, for `for await`. `pages()` has them page by page instead. */
export class Pages<T extends Listed> implements AsyncIterable<T> {
  readonly #fetch: (query: Query) => Promise<Page<T>>;
  readonly #query: Query;

  constructor(fetch: (query: Query) => Promise<Page<T>>, query: Query = {}) {
    this.#fetch = fetch;
    this.#query = query;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const position = new Position(this.#query);
    while (!position.isAtEnd) {
      const page = await this.#fetch(position.query());
      if (!position.isTooLate(page.meta)) {
        yield* position.advance(page);
      }
    }
  }

  /** The pages, from that of the argument `page`, as they are when they are read. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    const position = new Position(this.#query);
    while (!position.isAtEnd) {
      const { data, meta } = await this.#fetch(position.query());
      position.advance({ data, meta });
      yield { data, meta };
    }
  }
}
