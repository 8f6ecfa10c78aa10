/** Relates the program's clock to ours. */

const WINDOW_MS = 30_000;

/**
 * Every reading gives the difference of the two clocks plus the time that the message took to
 * arrive; the smallest of the last 30 s is the best estimate.
 */
export class ProgramClock {
  #readings: { readonly localMs: number; readonly differenceMs: number }[] = [];
  #differenceMs = 0;

  /** The program's clock showed `nowUs` in a message that arrived at `localMs`. */
  observe(nowUs: number, localMs: number): void {
    const reading = { localMs, differenceMs: localMs - nowUs / 1000 };
    // Only readings smaller than all after them can ever be the smallest, so that few are kept.
    const oldest = localMs - WINDOW_MS;
    this.#readings = this.#readings.filter(
      (kept) => kept.localMs >= oldest && kept.differenceMs < reading.differenceMs,
    );
    this.#readings.push(reading);
    this.#differenceMs = this.#readings[0]?.differenceMs ?? reading.differenceMs;
  }

  toLocalMs(programUs: number): number {
    return programUs / 1000 + this.#differenceMs;
  }

  reset(): void {
    this.#readings = [];
    this.#differenceMs = 0;
  }
}
