/** The page's own small jitter buffer. */

const SMALLEST_MS = 20;
const LARGEST_MS = 150;
/** Room between the latest picture seen and the cushion's end. */
const SPARE_MS = 8;
const SHRINKS_MS_PER_S = 4;

/**
 * How long after its play-out time a picture is shown, so that socket and decoder cannot make it
 * late. Grows at once with what was seen and shrinks slowly.
 */
export class Cushion {
  #ms = SMALLEST_MS;
  #lastMs: number | null = null;

  get ms(): number {
    return this.#ms;
  }

  /** A picture was ready `lateMs` after its play-out time (negative: before it). */
  observe(lateMs: number, nowMs: number): void {
    const passedS = this.#lastMs === null ? 0 : Math.max(0, nowMs - this.#lastMs) / 1000;
    this.#lastMs = nowMs;
    const needed = Math.min(LARGEST_MS, Math.max(SMALLEST_MS, lateMs + SPARE_MS));
    this.#ms = Math.max(needed, this.#ms - SHRINKS_MS_PER_S * passedS);
  }

  reset(): void {
    this.#ms = SMALLEST_MS;
    this.#lastMs = null;
  }
}
