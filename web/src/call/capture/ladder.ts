/** How large pictures are that a rate is enough for. */

import type { Size } from './codecs';

export interface Step {
  readonly height: number;
  readonly fps: number;
  /** Below this rate pictures of this size are too coarse, bit/s. */
  readonly from_bps: number;
}

/** Of somebody: what moves is to move. */
export const CAMERA_STEPS: readonly Step[] = [
  { height: 720, fps: 30, from_bps: 1_100_000 },
  { height: 360, fps: 30, from_bps: 320_000 },
  { height: 270, fps: 25, from_bps: 150_000 },
  { height: 180, fps: 15, from_bps: 0 },
];
/** Of a screen: what is written is to be read, however seldom it changes. */
export const SCREEN_STEPS: readonly Step[] = [
  { height: 1080, fps: 10, from_bps: 900_000 },
  { height: 1080, fps: 5, from_bps: 500_000 },
  { height: 720, fps: 5, from_bps: 0 },
];
/** A rate that goes up and down a little must not change the size each time. */
const UP_FROM = 1.25;
/** After the encoder was too slow for a size, it is not tried again for so long. */
const SPARED_MS = 30_000;
/** For so long it must be behind. */
const SLOW_AFTER_MS = 1_500;

export class Ladder {
  readonly #steps: readonly Step[];
  #step: number;
  #isFirst = true;
  #highest = 0;
  #sparedUntilMs = 0;
  #slowSinceMs: number | null = null;

  constructor(steps: readonly Step[] = CAMERA_STEPS) {
    this.#steps = steps;
    this.#step = steps.length - 1;
  }

  /** The step for this rate. */
  at(bps: number, nowMs: number): Step {
    if (nowMs >= this.#sparedUntilMs) {
      this.#highest = 0;
    }
    const enough = this.#isFirst ? 1 : UP_FROM;
    const up = this.#steps.findIndex(({ from_bps }) => bps >= from_bps * enough);
    const down = this.#steps.findIndex(({ from_bps }) => bps >= from_bps);
    this.#isFirst = false;
    const fitting = up < this.#step ? up : Math.max(down, this.#step);
    this.#step = Math.max(this.#highest, fitting);
    return this.#steps[this.#step] as Step;
  }

  /** Whether the encoder keeps up; one that does not for long is given smaller pictures. */
  observe(isBehind: boolean, nowMs: number): void {
    if (!isBehind) {
      this.#slowSinceMs = null;
      return;
    }
    this.#slowSinceMs ??= nowMs;
    if (nowMs - this.#slowSinceMs >= SLOW_AFTER_MS) {
      this.#slowSinceMs = null;
      this.#highest = Math.min(this.#steps.length - 1, this.#step + 1);
      this.#sparedUntilMs = nowMs + SPARED_MS;
    }
  }
}

/** Of a camera's pictures, with even sides, never larger than they are. */
export function sizeAt({ height }: Step, camera: Size): Size {
  const scale = Math.min(1, height / Math.min(camera.width, camera.height));
  return { width: even(camera.width * scale), height: even(camera.height * scale) };
}

function even(length: number): number {
  return Math.max(2, 2 * Math.round(length / 2));
}
