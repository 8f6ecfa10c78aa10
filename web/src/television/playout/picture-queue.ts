/** Layers of pictures, as they come, to pictures in decoding order. */

import { isEnoughFor, type MediaHeader } from '../protocol/media';
import type { Unit } from './assembler';

/** Before their time, by so much pictures go to the decoder. */
export const PICTURE_AHEAD_MS = 160;
/** A picture of which something is missing is waited for until so short before its time. */
const GUARD_MS = 40;
/** How long the first picture waits for what refines it. */
const ENTRY_WAIT_MS = 40;
/** More than the longest groups of pictures have. */
const WAITING_MAX = 2_048;
/** Pictures after the next one whose time may be earlier, because it is predicted from them. */
const REORDER_MAX = 8;

/** One picture, with what came of it in time. */
export interface Picture {
  readonly frame: number;
  readonly key: boolean;
  /** A picture that it may refer to is missing. */
  readonly discontinuity: boolean;
  readonly ptsUs: number;
  /** From the base upwards, without a gap. */
  readonly layers: readonly Uint8Array[];
}

interface Waiting {
  readonly base: Unit;
  readonly sinceMs: number;
}

export class PictureQueue {
  /** Bases in order of their numbers. */
  #bases: Waiting[] = [];
  /** What refines them, by number and layer. */
  #refinements = new Map<number, Map<number, Unit>>();
  #entry: number | null = null;
  #last: MediaHeader | null = null;
  /** Pictures that never came, or not before their time. */
  lost = 0;
  /** Pictures that came after their time. */
  late = 0;

  restart(): void {
    this.#bases = [];
    this.#refinements.clear();
    this.#entry = null;
    this.#last = null;
  }

  push(unit: Unit, nowMs: number): void {
    const { frame, layer } = unit.header;
    if (this.#last !== null && frame <= this.#last.frame) {
      this.#countLate(unit);
    } else if (layer === 0) {
      this.#insert({ base: unit, sinceMs: nowMs });
    } else {
      const layers = this.#refinements.get(frame) ?? new Map<number, Unit>();
      this.#refinements.set(frame, layers.set(layer, unit));
      this.#bound();
    }
  }

  /** The time of the media that is to be seen next. */
  get nextPtsUs(): number | null {
    return this.#bases[0]?.base.header.ptsUs ?? null;
  }

  /** The next picture, if it goes to the decoder now. */
  take(nowMs: number, dueMs: (ptsUs: number) => number): Picture | null {
    if (this.#last === null) {
      return this.#takeEntry(nowMs);
    }
    const [next] = this.#bases;
    if (next === undefined) {
      return null;
    }
    const isNext = next.base.header.frame === this.#last.frame + 1;
    const isWhole = isNext && this.#layersOf(next.base).isWhole;
    const leadMs = isWhole ? PICTURE_AHEAD_MS : GUARD_MS;
    const soonest = this.#bases.slice(0, REORDER_MAX).map(({ base }) => dueMs(base.header.ptsUs));
    return Math.min(...soonest) - leadMs > nowMs ? null : this.#release(next.base);
  }

  #takeEntry(nowMs: number): Picture | null {
    const at = this.#bases.findIndex(({ base }) => base.header.key);
    const entry = this.#bases[at];
    const waits =
      entry !== undefined &&
      !this.#layersOf(entry.base).isWhole &&
      nowMs < entry.sinceMs + ENTRY_WAIT_MS;
    if (entry === undefined || waits) {
      return null;
    }
    this.#entry = entry.base.header.frame;
    return this.#release(entry.base);
  }

  #release(base: Unit): Picture {
    const { frame, key, discontinuity, ptsUs } = base.header;
    const { layers } = this.#layersOf(base);
    const last = this.#last ?? base.header;
    this.lost += Math.max(0, frame - last.frame - 1);
    const lacks = last !== base.header && !isEnoughFor(last, base.header);
    this.#last = base.header;
    this.#bases = this.#bases.filter((waiting) => waiting.base.header.frame > frame);
    for (const number of this.#refinements.keys()) {
      if (number <= frame) {
        this.#refinements.delete(number);
      }
    }
    return { frame, key, discontinuity: discontinuity || lacks, ptsUs, layers };
  }

  #layersOf(base: Unit): { readonly layers: Uint8Array[]; readonly isWhole: boolean } {
    const refinements = this.#refinements.get(base.header.frame);
    const layers = [base.payload];
    let top = base;
    for (;;) {
      const next = refinements?.get(layers.length);
      if (next === undefined) {
        return { layers, isWhole: top.header.lastLayer };
      }
      layers.push(next.payload);
      top = next;
    }
  }

  #insert(waiting: Waiting): void {
    const { frame } = waiting.base.header;
    const at = this.#bases.findLastIndex(({ base }) => base.header.frame <= frame) + 1;
    this.#bases.splice(at, 0, waiting);
    this.#bound();
  }

  #countLate({ header }: Unit): void {
    const wasMissed = header.layer === 0 && this.#entry !== null && header.frame > this.#entry;
    if (wasMissed && this.lost > 0) {
      this.late += 1;
      this.lost -= 1;
    }
  }

  /** So many wait only where the clock stands still: begin anew with a key frame. */
  #bound(): void {
    if (this.#bases.length > WAITING_MAX || this.#refinements.size > WAITING_MAX) {
      this.restart();
    }
  }
}
