/**
 * How many blocks are asked for at once: as many as make others wait for no longer than a voice
 * does not mind. The rule of LEDBAT (RFC 6817), which yields to all else that shares a queue, with
 * the time from asking to having as the delay.
 */

/** RFC 6817 section 2.4.2 allows up to 100 ms; voice has a use for the difference. */
const TARGET_MS = 60;
/** Blocks by which the window grows in a round trip without any queue. */
const GAIN = 4;
const WINDOW_MIN = 1;
const WINDOW_START = 4;
/** The least of so many delays counts: one that is late is no queue. */
const CURRENT = 4;
/** Routes change: the least of the last minutes is the delay without a queue. */
const BASE_EVERY_MS = 60_000;
const BASES = 3;

export class DelayWindow {
  readonly #max: number;
  #blocks = WINDOW_START;
  /** Until a queue shows, the window doubles in each round trip. */
  #isStarting = true;
  readonly #current: number[] = [];
  readonly #bases: number[] = [];
  #basesMs = Number.NEGATIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  /** Blocks that may be asked for and not be here. */
  get blocks(): number {
    return Math.floor(this.#blocks);
  }

  /** A block came that long after it was asked for. */
  came(nowMs: number, delayMs: number): void {
    this.#note(nowMs, delayMs);
    const queuedMs = Math.min(...this.#current) - Math.min(...this.#bases);
    this.#isStarting &&= queuedMs < TARGET_MS / 2;
    const offTarget = Math.max(-1, (TARGET_MS - queuedMs) / TARGET_MS);
    const step = this.#isStarting ? 1 : (GAIN * offTarget) / this.#blocks;
    this.#blocks = Math.min(this.#max, Math.max(WINDOW_MIN, this.#blocks + step));
  }

  /** Nothing came for long. */
  stalled(): void {
    this.#blocks = WINDOW_MIN;
    this.#isStarting = true;
    this.#current.length = 0;
  }

  #note(nowMs: number, delayMs: number): void {
    this.#current.push(delayMs);
    if (this.#current.length > CURRENT) {
      this.#current.shift();
    }
    if (nowMs - this.#basesMs >= BASE_EVERY_MS) {
      this.#basesMs = nowMs;
      this.#bases.push(delayMs);
      if (this.#bases.length > BASES) {
        this.#bases.shift();
      }
    }
    const last = this.#bases.length - 1;
    this.#bases[last] = Math.min(this.#bases[last] ?? delayMs, delayMs);
  }
}
