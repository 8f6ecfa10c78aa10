/**
 * What the encoder of pictures is asked for: what the networks of the others take, and no more than
 * our own does, which shows in what waits in the data channels.
 */

const FIRST_BPS = 600_000;
const LEAST_BPS = 60_000;
const MOST_BPS = 2_500_000;
/** What may wait: a key picture takes longer to leave than another one. */
const WAIT_MAX_MS = 150;
const FALL = 0.7;
const GROWTH = 1.08;
const GROWTH_EVERY_MS = 200;
/** After it was lowered, the rate stays for so long. */
const REST_MS = 600;
/** What is sent now shows in the queue after so long. */
const FALL_EVERY_MS = 200;

export class UplinkRate {
  #bps = FIRST_BPS;
  #roomBps = 0;
  #grownMs = 0;
  #loweredMs = Number.NEGATIVE_INFINITY;

  /** What pictures may take now; 0 while nobody sees them. */
  get bps(): number {
    return Math.min(this.#bps, this.#roomBps);
  }

  /** What the networks of the others take. */
  set roomBps(bps: number) {
    this.#roomBps = bps;
  }

  /** How long a picture that is sent now waits before it leaves. */
  waitMs(queuedBytes: number): number {
    return (queuedBytes * 8_000) / Math.max(LEAST_BPS, this.bps);
  }

  /** Follows what waits to leave; to be called each 100 ms. */
  follow(nowMs: number, queuedBytes: number): void {
    if (this.waitMs(queuedBytes) > WAIT_MAX_MS) {
      if (nowMs - this.#loweredMs >= FALL_EVERY_MS) {
        this.#loweredMs = nowMs;
        this.#bps = Math.max(LEAST_BPS, Math.round(this.bps * FALL));
      }
      return;
    }
    const isResting = nowMs - this.#loweredMs < REST_MS;
    if (!isResting && nowMs - this.#grownMs >= GROWTH_EVERY_MS) {
      this.#grownMs = nowMs;
      this.#bps = Math.min(MOST_BPS, Math.round(this.#bps * GROWTH));
    }
  }
}
