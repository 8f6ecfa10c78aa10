/** When each sample of the voice is due. */

import { FRAME_MS, FRAME_SAMPLES, SAMPLES_PER_MS } from './samples';

interface Frame {
  /** The number of its first sample. */
  readonly first: number;
  readonly dueMs: number;
}

/** Frames that are farther apart have silence between them: see docs/call.md. */
const APART_MAX_MS = 40;
/** More than there is ever to wait for. */
const FRAMES_MAX = 64;
/** Times come in whole microseconds, and pass through sums. */
const EPSILON_MS = 0.01;

export class Timeline {
  #frames: Frame[] = [];

  /** When the last frame ends, if no later one stretches or compresses it. */
  get endMs(): number | null {
    const last = this.#frames.at(-1);
    return last === undefined ? null : last.dueMs + FRAME_MS;
  }

  /** Whether a frame that is due then comes after all that are here. */
  takes(dueMs: number): boolean {
    const last = this.#frames.at(-1);
    return last === undefined || dueMs > last.dueMs + EPSILON_MS;
  }

  /** A frame begins with the sample of this number. */
  push(first: number, dueMs: number): void {
    this.#frames.push({ first, dueMs });
    if (this.#frames.length > FRAMES_MAX) {
      this.#frames.shift();
    }
  }

  /** The number of the sample that is due now, with a fraction; `null` for none. */
  due(nowMs: number): number | null {
    const index = this.#frames.findLastIndex(({ dueMs }) => dueMs <= nowMs);
    const frame = this.#frames[index];
    if (frame === undefined) {
      return null;
    }
    const lastsMs = this.#lastsMs(index);
    const sinceMs = nowMs - frame.dueMs;
    return sinceMs >= lastsMs ? null : frame.first + (FRAME_SAMPLES * sinceMs) / lastsMs;
  }

  /** The end of the sound that this sample belongs to: where silence, or nothing, follows. */
  soundEnd(number: number): number {
    let index = this.#frames.findIndex(({ first }) => number < first + FRAME_SAMPLES);
    if (index < 0) {
      return Number.NEGATIVE_INFINITY;
    }
    while (this.#isFollowed(index)) {
      index += 1;
    }
    return (this.#frames[index]?.first ?? 0) + FRAME_SAMPLES;
  }

  clear(): void {
    this.#frames = [];
  }

  #lastsMs(index: number): number {
    return this.#isFollowed(index) ? this.#apartMs(index) : FRAME_MS;
  }

  /** Whether the next frame follows this one without silence. */
  #isFollowed(index: number): boolean {
    return this.#apartMs(index) <= APART_MAX_MS;
  }

  #apartMs(index: number): number {
    const [frame, next] = [this.#frames[index], this.#frames[index + 1]];
    return frame === undefined || next === undefined
      ? Number.POSITIVE_INFINITY
      : next.dueMs - frame.dueMs;
  }
}

/** Milliseconds that so many samples last. */
export function msOf(samples: number): number {
  return samples / SAMPLES_PER_MS;
}
