/** How loud sound is, for a bar that people read. */

/** What of its height a bar keeps from one report to the next while it falls. */
const FALLS_TO = 0.7;
/** Below this is silence: the left end of the bar. */
const QUIETEST_DB = -60;

export class LevelMeter {
  #peak = 0;
  #shown = 0;

  take(samples: Float32Array): void {
    for (const sample of samples) {
      this.#peak = Math.max(this.#peak, Math.abs(sample));
    }
  }

  /** From 0, silent, to 1, as loud as can be, since the last call. */
  level(): number {
    const db = this.#peak > 0 ? 20 * Math.log10(this.#peak) : QUIETEST_DB;
    const level = Math.min(1, Math.max(0, 1 - db / QUIETEST_DB));
    this.#peak = 0;
    this.#shown = Math.max(level, this.#shown * FALLS_TO);
    return this.#shown;
  }
}
