/**
 * Puts something in the place of voice that did not come: the last period of the voice again and
 * again, fading, as ITU-T G.711 Appendix I does.
 */

import { best, FRAME_SAMPLES, likeness, RATE, Samples } from './samples';

/** Of the voices of people and of most of what is loud around them: 60 to 400 Hz. */
const PERIOD_MIN = RATE / 400;
const PERIOD_MAX = RATE / 60;
/** What is looked at for the period. */
const LOOK = FRAME_SAMPLES;
/** Noise has no period: a long one sounds least like a tone. */
const VOICED_FROM = 0.5;
/** As loud as before for so long; silent after five frames. */
const LOUD = FRAME_SAMPLES;
const SILENT_FROM = 5 * FRAME_SAMPLES;
/** Over so many samples voice that comes again takes over. */
const TAKE_OVER = RATE / 200;
/** Over so many a step between what was heard and its period is evened out. */
const EVEN_OUT = RATE / 500;

interface Cycle {
  readonly samples: Float32Array;
  /** Between the last sample heard and the one a period before it. */
  readonly step: number;
}

export class Concealer {
  readonly #heard = new Samples();
  #cycle: Cycle | null = null;
  /** Samples concealed in a row. */
  #concealed = 0;

  /** Voice that came: what is to be heard of it. */
  take(samples: Float32Array): Float32Array {
    const taken = samples.slice();
    if (this.#cycle !== null) {
      const overlap = Math.min(TAKE_OVER, taken.length);
      for (let at = 0; at < overlap; at++) {
        const share = at / overlap;
        taken[at] = (taken[at] ?? 0) * share + this.#next() * (1 - share);
      }
      this.#cycle = null;
      this.#concealed = 0;
    }
    this.#heard.push(taken);
    return taken;
  }

  /** What is to be heard in the place of so many samples that did not come. */
  conceal(length: number): Float32Array {
    this.#cycle ??= this.#lastPeriod();
    return Float32Array.from({ length }, () => this.#next());
  }

  #next(): number {
    const { samples, step } = this.#cycle ?? this.#lastPeriod();
    const at = this.#concealed++;
    if (at >= SILENT_FROM) {
      return 0;
    }
    const gain = Math.min(1, (SILENT_FROM - at) / (SILENT_FROM - LOUD));
    const even = Math.max(0, 1 - at / EVEN_OUT) * step;
    return gain * ((samples[at % samples.length] ?? 0) + even);
  }

  /** The last period of what was heard, made so that its end leads into its beginning. */
  #lastPeriod(): Cycle {
    const heard = this.#heard;
    const { end } = heard;
    const length = periodOf(heard);
    const begin = end - length;
    const overlap = length >> 2;
    const samples = Float32Array.from({ length }, (_, at) => {
      const share = Math.max(0, (at - (length - overlap)) / overlap);
      return heard.at(begin + at) * (1 - share) + heard.at(begin + at - length) * share;
    });
    return { samples, step: heard.at(end - 1) - heard.at(begin - 1) };
  }
}

/** The period of the voice at its end, in samples. */
function periodOf(heard: Samples): number {
  const at = heard.end - LOOK;
  const alike = (period: number, step: number) => likeness(heard, at, at - period, LOOK, step);
  const period = best(PERIOD_MIN, PERIOD_MAX, alike);
  return alike(period, 1) >= VOICED_FROM ? period : PERIOD_MAX;
}
