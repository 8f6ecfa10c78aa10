/**
 * When what came of a channel is to be seen and heard, as in
 * `crates/television/src/viewer/playout/timeline.rs`; times are whole microseconds.
 *
 * Three clocks run apart: the source's, which numbered the pictures, the server's, and ours.
 */

import { PlayoutClock, WINDOW_US } from '../../media/playout-clock';

/** Who began behind the live edge, or ahead of the budget, plays a twentieth faster or slower. */
const CATCH_UP = 20;
/** Nothing but late media for so long: a clock is another one, or the network much slower. */
const LATE_MAX_US = 1_000_000;
/** After the time was set anew, so much passes before what is next. */
export const RESTART_AHEAD_US = 50_000;

/** Something in the media. */
export interface Place {
  readonly ptsUs: number;
  /** When it came to the server, on the server's clock. */
  readonly atUs: number;
}

/** What was shown when, and where the clocks were. */
interface Start {
  readonly ptsUs: number;
  readonly shownUs: number;
  /** How far it was behind the budget, or ahead of it if less than zero. */
  readonly behindUs: number;
  readonly serverUs: number;
  /** Where the source's clock was once it had been heard for long enough. */
  readonly sourceUs: number | null;
  /** How much later than at the start all is to be shown, because a clock or the way changed. */
  readonly driftUs: number;
}

export class Timeline {
  #budgetUs = 0;
  #server = new PlayoutClock(0);
  #source = new PlayoutClock(0);
  #start: Start | null = null;
  #lateSinceUs: number | null = null;

  get isRunning(): boolean {
    return this.#start !== null;
  }

  /** Another server, of which nothing is known. */
  connect(budgetUs: number): void {
    this.#budgetUs = budgetUs;
    this.#server = new PlayoutClock(budgetUs);
    this.stop();
  }

  /** Nothing is shown; the server stays what it is. */
  stop(): void {
    this.#start = null;
    this.#lateSinceUs = null;
    this.#source = new PlayoutClock(this.#budgetUs);
  }

  /** Another budget; what comes after `last` moves to its place at the usual speeds. */
  setBudget(budgetUs: number, last: Place | null): void {
    this.#budgetUs = budgetUs;
    this.#server.latencyUs = budgetUs;
    if (last !== null && this.isRunning) {
      this.start(last, this.playAtUs(last.ptsUs));
    }
  }

  /** The server's clock showed `atUs` in something that is here now. */
  observe(nowUs: number, atUs: number): void {
    this.#server.sample(nowUs, atUs);
  }

  /** Learns where the clocks are from what came; `isEntry`: decoding could begin there. */
  follow(nowUs: number, place: Place, isEntry: boolean): void {
    const { ptsUs, atUs } = place;
    if (this.#server.isBrokenBy(nowUs, atUs) || this.#isLateForLong(nowUs, ptsUs)) {
      this.#server = new PlayoutClock(this.#budgetUs);
      this.observe(nowUs, atUs);
      if (this.isRunning) {
        this.start(place, Math.max(this.playAtUs(ptsUs), nowUs + RESTART_AHEAD_US));
      }
      return;
    }
    this.observe(nowUs, atUs);
    if (isEntry && ptsUs >= 0) {
      this.#source.sample(atUs, ptsUs);
    }
    if (this.#start === null) {
      return;
    }
    let { sourceUs } = this.#start;
    if (sourceUs === null && nowUs - this.#start.shownUs >= WINDOW_US) {
      this.#source.settle();
      sourceUs = this.#source.offsetUs;
    }
    const ofServerUs = this.#server.offsetUs - this.#start.serverUs;
    const ofSourceUs = sourceUs === null ? 0 : this.#source.offsetUs - sourceUs;
    this.#start = { ...this.#start, sourceUs, driftUs: ofServerUs + ofSourceUs };
  }

  /** This is what is to be seen at this time. */
  start({ ptsUs, atUs }: Place, shownUs: number): void {
    this.#server.settle();
    this.#source = new PlayoutClock(this.#budgetUs);
    this.#lateSinceUs = null;
    const serverUs = this.#server.offsetUs;
    const behindUs = shownUs - atUs - serverUs - this.#budgetUs;
    this.#start = { ptsUs, shownUs, behindUs, serverUs, sourceUs: null, driftUs: 0 };
  }

  /** When it is to be seen or heard; the start of time while nothing is. */
  playAtUs(ptsUs: number): number {
    if (this.#start === null) {
      return 0;
    }
    const { shownUs, driftUs } = this.#start;
    const elapsedUs = ptsUs - this.#start.ptsUs;
    return Math.max(0, shownUs + elapsedUs - this.#caughtUpUs(elapsedUs) + driftUs);
  }

  /** How fast the media goes at this place, against our clock. */
  speed(ptsUs: number): number {
    const behindUs = this.#start?.behindUs ?? 0;
    const isThere = this.#caughtUpUs(ptsUs - (this.#start?.ptsUs ?? ptsUs)) === behindUs;
    return isThere ? 1 : CATCH_UP / (CATCH_UP - Math.sign(behindUs));
  }

  /** From the server's hand to its time. */
  behindUs({ ptsUs, atUs }: Place): number {
    return this.playAtUs(ptsUs) - atUs - this.#server.offsetUs;
  }

  #caughtUpUs(elapsedUs: number): number {
    const mostUs = Math.floor(Math.max(0, elapsedUs) / CATCH_UP);
    return Math.max(-mostUs, Math.min(mostUs, this.#start?.behindUs ?? 0));
  }

  #isLateForLong(nowUs: number, ptsUs: number): boolean {
    if (!this.isRunning || this.playAtUs(ptsUs) >= nowUs) {
      this.#lateSinceUs = null;
    } else {
      this.#lateSinceUs ??= nowUs;
    }
    return this.#lateSinceUs !== null && nowUs - this.#lateSinceUs > LATE_MAX_US;
  }
}
