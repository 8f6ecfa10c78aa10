/** Gathers the layers of a picture. */

import type { MediaUnit } from '../protocol/media-unit';
import { superframe } from './superframe';

/** One picture, ready for the decoder. */
export interface Picture {
  readonly frame: number;
  readonly key: boolean;
  readonly discontinuity: boolean;
  /** How many layers came: 1 is the base alone. */
  readonly layers: number;
  readonly disposable: boolean;
  readonly ptsUs: number;
  readonly playAtUs: number;
  readonly data: Uint8Array;
  /** The base layer alone. */
  readonly base: Uint8Array;
}

/** Turns units, in the order in which the program sends them, into pictures. */
export class PictureAssembler {
  #units: MediaUnit[] = [];

  /** The pictures that this unit completes: its own, and one before it whose `last` never came. */
  push(unit: MediaUnit): Picture[] {
    const done: Picture[] = [];
    const [base] = this.#units;
    if (base !== undefined && base.frame !== unit.frame) {
      done.push(this.#finish(base));
    }
    if (unit.layer !== this.#units.length) {
      // An enhancement without what it enhances is of no use to the decoder.
      return done;
    }
    this.#units.push(unit);
    if (unit.last) {
      done.push(this.#finish(this.#units[0] ?? unit));
    }
    return done;
  }

  reset(): void {
    this.#units = [];
  }

  #finish(base: MediaUnit): Picture {
    const units = this.#units;
    this.#units = [];
    return {
      frame: base.frame,
      key: base.key,
      discontinuity: base.discontinuity,
      layers: units.length,
      disposable: base.disposable,
      ptsUs: base.ptsUs,
      playAtUs: base.playAtUs,
      data: superframe(units.map((unit) => unit.payload)),
      base: base.payload,
    };
  }
}
