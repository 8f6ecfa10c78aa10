/** When to open the socket again. */

const DELAYS_MS = [1_000, 2_000, 4_000, 5_000];

export class Backoff {
  #attempts = 0;

  /** How long to wait before the next attempt. */
  next(): number {
    const last = DELAYS_MS.length - 1;
    const delay = DELAYS_MS[Math.min(this.#attempts, last)] ?? 5_000;
    this.#attempts += 1;
    return delay;
  }

  /** An attempt succeeded. */
  reset(): void {
    this.#attempts = 0;
  }
}
