/** Coded pictures that wait until it is their turn to be decoded. */

/** Decoded pictures take the decoder's memory: they are made so long before their time. */
export const DECODE_AHEAD_MS = 160;

/** More than the longest groups of pictures have; what is beyond goes to the decoder at once. */
export const CODED_MAX = 2_048;

interface Coded<P> {
  readonly picture: P;
  readonly dueMs: number;
}

/**
 * Keeps the order of decoding. A stream whose sound comes late has its pictures wait for it, for
 * longer than all that a decoder may hold.
 */
export class DecodeQueue<P> {
  #waiting: Coded<P>[] = [];

  /** The next picture in the order of decoding, to be seen at `dueMs`. */
  push(picture: P, dueMs: number): void {
    this.#waiting.push({ picture, dueMs });
  }

  /** What goes to the decoder now: pictures that are soon to be seen, and all before them. */
  take(nowMs: number): readonly P[] {
    const soonest = this.#waiting.findLastIndex(({ dueMs }) => dueMs - DECODE_AHEAD_MS <= nowMs);
    const count = Math.max(soonest + 1, this.#waiting.length - CODED_MAX);
    return this.#waiting.splice(0, count).map(({ picture }) => picture);
  }

  clear(): void {
    this.#waiting = [];
  }
}
