/** Whether anything still comes from the server, from what the browser counts. */

/**
 * The browser checks a quiet connection every 2.5 s and gives it up after half a minute; a viewer
 * should not look at a still picture for so long.
 */
const PATIENCE_MS = 5_000;

export class Liveness {
  #received = -1;
  #lastMs: number | null = null;

  /** `received` counts whatever comes: bytes of media, answers to checks. */
  isAlive(received: number, nowMs: number): boolean {
    if (this.#lastMs === null || received !== this.#received) {
      this.#received = received;
      this.#lastMs = nowMs;
    }
    return nowMs - this.#lastMs < PATIENCE_MS;
  }
}
