/** When what is received is shown. */

import { ProgramClock } from '../../media/program-clock';

/** Five per cent faster or slower. */
const FASTER = 1.05;
const SLOWER = 0.95;
/** Nearer to where it should be the speed is not changed. */
const TOLERANCE_MS = 25;
/** Between a picture's arrival and its time, at least: decoding takes it. */
const SPARE_MS = 50;
/** How long a measurement of the place that is played counts, and one of the network's moods. */
const PLACE_WINDOW_MS = 400;
const NETWORK_WINDOW_MS = 10_000;

/** Tells the time of the media: where it was begun, and how fast it goes on. */
export class PlayClock {
  #anchor: { readonly ptsUs: number; readonly atMs: number } | null = null;
  #speed = 1;

  get running(): boolean {
    return this.#anchor !== null;
  }

  get speed(): number {
    return this.#speed;
  }

  /** This is what is to be seen at this time. */
  start(ptsUs: number, atMs: number): void {
    this.#anchor = { ptsUs, atMs };
  }

  stop(): void {
    this.#anchor = null;
    this.#speed = 1;
  }

  setSpeed(speed: number, nowMs: number): void {
    if (this.#anchor !== null && speed !== this.#speed) {
      const { ptsUs, atMs } = this.#anchor;
      this.#anchor = { ptsUs: ptsUs + (nowMs - atMs) * 1000 * this.#speed, atMs: nowMs };
      this.#speed = speed;
    }
  }

  /** When it is to be seen or heard; `null` before the first picture. */
  dueMs(ptsUs: number): number | null {
    return this.#anchor === null
      ? null
      : this.#anchor.atMs + (ptsUs - this.#anchor.ptsUs) / 1000 / this.#speed;
  }
}

/**
 * How fast to play. One who began with an old key frame plays faster until no further behind the
 * server's hand than the latency budget, or than the network needs; one who began with a fresh one
 * plays slower until what the network delays comes in time.
 */
export class Pace {
  readonly #server = new ProgramClock();
  readonly #places = new Extremes(PLACE_WINDOW_MS);
  readonly #delays = new Extremes(NETWORK_WINDOW_MS);
  #speed = 1;

  /** The server's clock showed `serverUs` in something that is here now. */
  observe(serverUs: number, nowMs: number): void {
    this.#server.observe(serverUs, nowMs);
  }

  /** A unit came that had not been kept for later viewers. */
  arrived(serverUs: number, nowMs: number): void {
    this.#delays.push(nowMs - this.#server.toLocalMs(serverUs), nowMs);
  }

  /** A unit that came to the server at `serverUs` is to be seen at `dueMs`. */
  placed(serverUs: number, dueMs: number, nowMs: number): void {
    this.#places.push(dueMs - this.#server.toLocalMs(serverUs), nowMs);
  }

  /** When the server had it, on our clock. */
  toLocalMs(serverUs: number): number {
    return this.#server.toLocalMs(serverUs);
  }

  /** How far behind the server's hand the viewer is; `null` while that is not known. */
  behindMs(nowMs: number): number | null {
    return this.#places.smallest(nowMs);
  }

  speed(nowMs: number, budgetMs: number): number {
    const behindMs = this.behindMs(nowMs);
    if (behindMs === null) {
      return this.#speed;
    }
    const neededMs = (this.#delays.largest(nowMs) ?? 0) + SPARE_MS;
    const leastMs = Math.min(budgetMs, neededMs);
    const mostMs = Math.max(budgetMs, neededMs);
    if (behindMs > mostMs + TOLERANCE_MS) {
      this.#speed = FASTER;
    } else if (behindMs < leastMs - TOLERANCE_MS) {
      this.#speed = SLOWER;
    } else if (this.#speed === FASTER ? behindMs <= mostMs : behindMs >= leastMs) {
      this.#speed = 1;
    }
    return this.#speed;
  }

  /** Another channel: the network stays what it is. */
  restart(): void {
    this.#places.clear();
    this.#speed = 1;
  }

  /** Another server. */
  reset(): void {
    this.restart();
    this.#delays.clear();
    this.#server.reset();
  }
}

/** The extremes of what was measured lately. */
class Extremes {
  readonly #windowMs: number;
  #readings: { readonly atMs: number; readonly value: number }[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  push(value: number, nowMs: number): void {
    this.#forget(nowMs);
    this.#readings.push({ atMs: nowMs, value });
  }

  smallest(nowMs: number): number | null {
    this.#forget(nowMs);
    return this.#readings.reduce<number | null>(
      (least, { value }) => (least === null ? value : Math.min(least, value)),
      null,
    );
  }

  largest(nowMs: number): number | null {
    this.#forget(nowMs);
    return this.#readings.reduce<number | null>(
      (most, { value }) => (most === null ? value : Math.max(most, value)),
      null,
    );
  }

  clear(): void {
    this.#readings = [];
  }

  #forget(nowMs: number): void {
    const first = this.#readings.findIndex(({ atMs }) => atMs >= nowMs - this.#windowMs);
    this.#readings.splice(0, first < 0 ? this.#readings.length : first);
  }
}
