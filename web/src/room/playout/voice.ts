/**
 * Voice of one member: frames in as they come, and out one each 20 ms, or what stands for them. The
 * rules are those of `crates/call/src/playout/voice.rs`, where they are explained; times are whole
 * microseconds.
 */

import { Spread } from './spread';

export const FRAME_US = 20_000;

const DELAY_MIN_US = 20_000;
const DELAY_MAX_US = 240_000;
const DELAY_FIRST_US = 60_000;
/** Beside what the arrivals needed. */
const MARGIN_US = 10_000;
/** By how much of the time that passes the delay falls. */
const FALL = 0.02;
/** Frames in a row that are concealed: after so long, guessing sounds worse than silence. */
const CONCEALED_MAX = 5;
const WAITING_MAX = 512;
/** A frame so far ahead is no loss of that many: its numbers began anew. */
const AHEAD_MAX = 3_000;
/** A frame that comes so soon after its time is not late. */
const LATE_TOLERANCE_US = 2_000;

/** When something that the sender captured then was captured, on the local clock. */
export type Local = (capturedUs: number) => number;

/** A frame that is to be heard; without a payload it is to be concealed. */
export interface HeardFrame {
  readonly playAtUs: number;
  readonly capturedUs: number;
  readonly frame: number;
  readonly payload: Uint8Array | null;
}

interface Waiting {
  readonly capturedUs: number;
  readonly payload: Uint8Array;
}

export class VoicePlayout {
  heard = 0;
  concealed = 0;
  late = 0;
  #waiting = new Map<number, Waiting>();
  /** The next frame to be heard, and when it was captured as far as its predecessor says. */
  #next: { readonly frame: number; readonly capturedUs: number } | null = null;
  /** Frames in a row that were concealed. */
  #concealedInRow = 0;
  /** Behind this number the sender fell silent on purpose. */
  #mutedFrom: number | null = null;
  readonly #spread = new Spread();
  #targetUs = DELAY_FIRST_US;
  /** In whole nanoseconds: it falls by less than a microsecond in some. */
  #delayNs = DELAY_FIRST_US * 1_000;
  #advancedUs = 0;

  /** How long voice waits beside the way. */
  get delayUs(): number {
    return this.#delayNs / 1_000;
  }

  /** The sender muted itself after so many frames, until the next one comes. */
  muteFrom(frame: number): void {
    this.#mutedFrom = frame;
  }

  /** The sender's clock or its numbers began anew. */
  restart(): void {
    this.#waiting.clear();
    this.#next = null;
    this.#spread.clear();
  }

  /** A frame came. `localUs` is when it was captured. */
  push(nowUs: number, frame: number, capturedUs: number, localUs: number, payload: Uint8Array) {
    const lateUs = Math.max(0, nowUs - localUs);
    this.#spread.note(nowUs, lateUs);
    this.#aim();
    if (this.#mutedFrom !== null && frame >= this.#mutedFrom) {
      this.#mutedFrom = null;
    }
    const next = this.#next?.frame ?? frame;
    if (frame > next + AHEAD_MAX) {
      this.restart();
    } else if (frame < next) {
      this.#onLate(lateUs);
      return;
    }
    if (this.#waiting.size < WAITING_MAX) {
      this.#waiting.set(frame, { capturedUs, payload });
    }
  }

  /** What is due next, if anything is. */
  poll(nowUs: number, local: Local): HeardFrame | null {
    this.#follow(nowUs);
    const upcoming = this.#upcoming();
    if (upcoming === null) {
      return null;
    }
    const { frame, capturedUs } = upcoming;
    const playAtUs = Math.floor(local(capturedUs) + this.delayUs);
    if (playAtUs > nowUs) {
      return null;
    }
    const found = this.#waiting.get(frame);
    this.#waiting.delete(frame);
    const isTooSoon = nowUs < playAtUs + LATE_TOLERANCE_US;
    if (found === undefined && (this.#isSilent(frame) || isTooSoon)) {
      return null;
    }
    this.#countSkipped(frame);
    this.#next = { frame: frame + 1, capturedUs: capturedUs + FRAME_US };
    if (found === undefined) {
      this.concealed += 1;
      this.#concealedInRow += 1;
    } else {
      this.heard += 1;
      this.#concealedInRow = 0;
    }
    return { playAtUs, capturedUs, frame, payload: found?.payload ?? null };
  }

  /** The frame that is to be heard next, and when it was captured. */
  #upcoming(): { readonly frame: number; readonly capturedUs: number } | null {
    let first: { readonly frame: number; readonly capturedUs: number } | null = null;
    for (const [frame, { capturedUs }] of this.#waiting) {
      if (first === null || frame < first.frame) {
        first = { frame, capturedUs };
      }
    }
    const next = this.#next;
    if (next === null || first === null) {
      return next ?? first;
    }
    // After a silence the next frame is the one that is there.
    const isNext = first.frame === next.frame || this.#isSilent(next.frame);
    return isNext ? first : next;
  }

  /** Whether nothing stands for a frame that is not there. */
  #isSilent(frame: number): boolean {
    const isMuted = this.#mutedFrom !== null && frame >= this.#mutedFrom;
    return isMuted || this.#concealedInRow >= CONCEALED_MAX;
  }

  /** After a silence that the sender did not mean, what was not heard counts all the same. */
  #countSkipped(frame: number): void {
    if (this.#next !== null && this.#mutedFrom === null) {
      this.concealed += Math.max(0, frame - this.#next.frame);
    }
  }

  #onLate(lateUs: number): void {
    this.late += 1;
    // Sooner than the spread would say so: what was lost once is lost again.
    this.#targetUs = Math.max(this.#targetUs, bounded(lateUs + MARGIN_US));
  }

  #aim(): void {
    this.#targetUs = bounded(this.#spread.neededUs + MARGIN_US);
  }

  /** Lets the delay follow its target. */
  #follow(nowUs: number): void {
    const elapsedUs = Math.max(0, nowUs - this.#advancedUs);
    this.#advancedUs = nowUs;
    const fallenNs = this.#delayNs - Math.round(elapsedUs * 1_000 * FALL);
    this.#delayNs = Math.max(fallenNs, Math.round(this.#targetUs * 1_000));
  }
}

function bounded(delayUs: number): number {
  return Math.min(DELAY_MAX_US, Math.max(DELAY_MIN_US, delayUs));
}
