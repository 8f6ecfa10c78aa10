/** Asks the operator's interface. */

import type { Check } from '../protocol/checks';

const PATIENCE_MS = 5_000;
const WORDS_MAX = 300;

/** The server's own words. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }

  /** Whether another token is needed. */
  get isLocked(): boolean {
    return this.status === 401;
  }
}

export class Api {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  async read<T>(path: string, check: Check<T>): Promise<T> {
    const response = await this.#ask('GET', path);
    return check(await response.json(), path);
  }

  async create<T>(path: string, body: object, check: Check<T>): Promise<T> {
    const response = await this.#ask('POST', path, JSON.stringify(body));
    return check(await response.json(), path);
  }

  async order(path: string): Promise<void> {
    await this.#ask('POST', path);
  }

  async remove(path: string): Promise<void> {
    await this.#ask('DELETE', path);
  }

  async #ask(method: string, path: string, body: string | null = null): Promise<Response> {
    const headers = new Headers({ authorization: `Bearer ${this.#token}` });
    if (body !== null) {
      headers.set('content-type', 'application/json');
    }
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(`/api/${path}`, { method, headers, body, signal });
    if (!response.ok) {
      const words = (await response.text()).slice(0, WORDS_MAX);
      throw new Refused(response.status, words || `The server answers ${response.status}.`);
    }
    return response;
  }
}
