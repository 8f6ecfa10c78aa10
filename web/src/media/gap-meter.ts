/** The longest time without a new picture. */

const WINDOW_MS = 10_000;

export class GapMeter {
  #gaps: { readonly endMs: number; readonly gapMs: number }[] = [];
  #lastMs: number | null = null;

  shown(nowMs: number): void {
    if (this.#lastMs !== null) {
      const gapMs = nowMs - this.#lastMs;
      // A smaller gap before a larger one can never be the longest.
      this.#gaps = this.#gaps.filter((gap) => gap.gapMs > gapMs);
      this.#gaps.push({ endMs: nowMs, gapMs });
    }
    this.#lastMs = nowMs;
  }

  /**
   * The longest gap that ended in the last 10 s, or that still lasts; `null` before the first
   * picture.
   */
  longestMs(nowMs: number): number | null {
    if (this.#lastMs === null) {
      return null;
    }
    this.#gaps = this.#gaps.filter((gap) => gap.endMs >= nowMs - WINDOW_MS);
    return Math.max(nowMs - this.#lastMs, this.#gaps[0]?.gapMs ?? 0);
  }

  reset(): void {
    this.#gaps = [];
    this.#lastMs = null;
  }
}
