/** Carries the times of a camera or a sound card over to the clock that both share. */

/** What came soonest within this time waited nowhere. */
const BUCKET_US = 250_000;
const BUCKETS = 4;
/** A sound card's clock is wrong by less. */
const DRIFT = 0.002;
/** A source that stood still, or a device that was changed, is followed at once. */
const JUMP_US = 40_000;

export class CaptureClock {
  #least: { readonly bucket: number; readonly differenceUs: number }[] = [];
  #offsetUs: number | null = null;
  #lastUs = 0;

  /** When what has this time there, and came now, was captured. */
  captured(sourceUs: number, nowUs: number): number {
    const targetUs = this.#sample(nowUs - sourceUs, Math.floor(nowUs / BUCKET_US));
    const errorUs = targetUs - (this.#offsetUs ?? Number.POSITIVE_INFINITY);
    const mostUs = DRIFT * (nowUs - this.#lastUs);
    const isJump = this.#offsetUs === null || Math.abs(errorUs) > JUMP_US;
    this.#offsetUs = isJump
      ? targetUs
      : (this.#offsetUs ?? 0) + Math.max(-mostUs, Math.min(mostUs, errorUs));
    this.#lastUs = nowUs;
    return Math.max(0, Math.round(Math.min(sourceUs + this.#offsetUs, nowUs)));
  }

  /** Takes this difference of the clocks; the smallest of late. */
  #sample(differenceUs: number, bucket: number): number {
    const others = this.#least.filter((least) => least.bucket > bucket - BUCKETS);
    const same = others.find((least) => least.bucket === bucket);
    const least = {
      bucket,
      differenceUs: Math.min(differenceUs, same?.differenceUs ?? differenceUs),
    };
    this.#least = [...others.filter((other) => other !== same), least];
    return Math.min(...this.#least.map(({ differenceUs }) => differenceUs));
  }
}
