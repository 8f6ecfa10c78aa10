/** When to open the socket again. */

const DELAYS_MS = [1_000, 2_000, 4_000, 5_000];

export class Backoff {
  readonly #delaysMs: readonly number[];
  #attempts = 0;

  /** The last one is that of all further attempts, too. */
  constructor(delaysMs: readonly number[] = DELAYS_MS) {
    this.#delaysMs = delaysMs;
  }

  /** How long to wait before the next attempt. */
  next(): number {
    const last = this.#delaysMs.length - 1;
    const delay = this.#delaysMs[Math.min(this.#attempts, last)] ?? 5_000;
    this.#attempts += 1;
    return delay;
  }

  /** An attempt succeeded. */
  reset(): void {
    this.#attempts = 0;
  }
}
