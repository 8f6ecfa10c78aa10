/** Carries the times of a camera or a sound card over to the clock that both share. */

import { PlayoutClock } from '../../media/playout-clock';

/** A source that was still for longer begins anew. */
const STILL_US = 100_000;

export class CaptureClock {
  readonly #clock = new PlayoutClock(STILL_US);

  /** When what has this time there, and came now, was captured. */
  captured(sourceUs: number, nowUs: number): number {
    this.#clock.sample(nowUs, sourceUs);
    this.#clock.settle();
    return Math.max(0, Math.round(Math.min(sourceUs + this.#clock.offsetUs, nowUs)));
  }
}
