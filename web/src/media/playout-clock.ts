/**
 * Carries the times of another clock over to one of ours, by what comes from there: the smallest
 * difference of late has waited nowhere. The rules are those of `crates/media/src/playout/clock.rs`
 * for one path, digit for digit; times are whole microseconds.
 */

const BUCKET_US = 1_000_000;
const BUCKETS = 10;
/** How long a smallest difference is remembered. */
export const WINDOW_US = BUCKETS * BUCKET_US;
/** How fast the offset follows its target. */
const TIME_CONSTANT_S = 4;
/** The most that it moves: 1 % of the time that passes. */
const MAX_SLEW = 0.01;
/** Nothing gets so much faster than the fastest before it: that is another clock. */
const BREAK_US = 1_000_000;
/** How long the target must be out of reach before everything waits for it. */
const WAIT_AFTER_US = 3_000_000;

export class PlayoutClock {
  latencyUs: number;
  #buckets: { readonly number: number; readonly leastUs: number }[] = [];
  /** The first difference; the offset in force counts from it, in nanoseconds. */
  #originUs: number | null = null;
  #slewedNs = 0;
  #advancedUs = 0;
  #isSettled = false;
  #outOfReachSinceUs: number | null = null;

  constructor(latencyUs: number) {
    this.latencyUs = latencyUs;
  }

  /** Time here minus the time there, the way included, in whole microseconds. */
  get offsetUs(): number {
    return Math.floor(this.exactOffsetUs);
  }

  /** The same to the nanosecond. */
  get exactOffsetUs(): number {
    return (this.#originUs ?? 0) + Math.trunc(this.#slewedNs) / 1_000;
  }

  /** Whether this can only come from another clock than what came before. */
  isBrokenBy(nowUs: number, sentUs: number): boolean {
    if (this.#originUs === null) {
      return false;
    }
    const leastUs = Math.min(...this.#buckets.map(({ leastUs }) => leastUs)) - this.#originUs;
    const leastNs = Math.min(Math.trunc(this.#slewedNs), leastUs * 1_000);
    return (nowUs - sentUs - this.#originUs) * 1_000 < leastNs - BREAK_US * 1_000;
  }

  /** What came there at `sentUs` is here now. */
  sample(nowUs: number, sentUs: number): void {
    const differenceUs = nowUs - sentUs;
    const number = Math.floor(nowUs / BUCKET_US);
    const isOfSlot = (bucket: { number: number }) => (bucket.number - number) % BUCKETS === 0;
    const same = this.#buckets.find((bucket) => bucket.number === number);
    const leastUs = Math.min(differenceUs, same?.leastUs ?? differenceUs);
    const others = this.#buckets.filter((bucket) => !isOfSlot(bucket));
    this.#buckets = [...others, { number, leastUs }];
    this.#buckets = this.#buckets.filter((bucket) => bucket.number > number - BUCKETS);
    if (this.#originUs === null) {
      this.#originUs = differenceUs;
      this.#advancedUs = nowUs;
    }
    this.advance(nowUs);
  }

  /** From now on time passes evenly: something was released. */
  settle(): void {
    this.#isSettled = true;
  }

  /** Lets the offset follow up to now. */
  advance(nowUs: number): void {
    if (this.#originUs === null) {
      return;
    }
    const elapsedUs = Math.max(0, nowUs - this.#advancedUs);
    const elapsedS = Math.floor(elapsedUs / 1e6) + ((elapsedUs % 1e6) * 1_000) / 1e9;
    this.#advancedUs = Math.max(this.#advancedUs, nowUs);
    const targetUs = Math.min(...this.#buckets.map(({ leastUs }) => leastUs));
    const distanceNs = (targetUs - this.#originUs) * 1_000 - this.#slewedNs;
    if (!this.#isSettled || this.#isOutOfReach(nowUs, distanceNs)) {
      this.#slewedNs += distanceNs;
      return;
    }
    const mostNs = MAX_SLEW * elapsedS * 1e9;
    const stepNs = distanceNs * Math.min(elapsedS / TIME_CONSTANT_S, 1);
    this.#slewedNs += Math.max(-mostNs, Math.min(mostNs, stepNs));
  }

  /** Whether the target was farther than the latency for long enough. */
  #isOutOfReach(nowUs: number, distanceNs: number): boolean {
    if (distanceNs <= this.latencyUs * 1_000) {
      this.#outOfReachSinceUs = null;
      return false;
    }
    this.#outOfReachSinceUs ??= nowUs;
    const isLasting = nowUs - this.#outOfReachSinceUs >= WAIT_AFTER_US;
    if (isLasting) {
      this.#outOfReachSinceUs = null;
    }
    return isLasting;
  }
}
