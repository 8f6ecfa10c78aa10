/**
 * Voice that waits for its time. What its times say to stretch or to compress keeps its pitch:
 * where what is heard is too far from what is due, it goes on at the place near the due one that
 * looks most like what would have followed (waveform similarity overlap-add, Verhelst and Roelands
 * 1993). Elsewhere every sample is heard as it was decoded.
 */

import { Concealer } from './concealer';
import { best, FRAME_SAMPLES, likeness, RATE, SAMPLES_PER_MS, Samples } from './samples';
import { msOf, Timeline } from './timeline';

/** One frame of 20 ms. */
export interface VoiceFrame {
  /** When its first sample is to be heard, in ms since the epoch. */
  readonly dueMs: number;
  /** `null`: it did not come in time and is concealed. */
  readonly samples: Float32Array | null;
}

/** From so far on what is heard is moved towards what is due. */
const TOLERANCE = 10 * SAMPLES_PER_MS;
/** Half of the longest period of a voice: less than the tolerance, or it would move to and fro. */
const SEARCH = RATE / 120;
/** Over so many samples one place takes over from the other. */
const OVERLAP = 5 * SAMPLES_PER_MS;
/** From so far on there is no going there step by step. */
const JUMP = 100 * SAMPLES_PER_MS;
/** Where nothing follows, and nobody said that it is lost, it is concealed for so many frames. */
const CONCEALED_UNTOLD_MAX = 3;
const FADE = SAMPLES_PER_MS * 2.5;

export class VoiceQueue {
  readonly #samples = new Samples();
  readonly #timeline = new Timeline();
  #concealer = new Concealer();
  /** The number of the next sample that is heard; `null` in silence. */
  #position: number | null = null;
  /** What is heard moves by this much, so many samples of the overlap being done. */
  #move: { readonly by: number; done: number } | null = null;
  /** Samples since silence. */
  #sounding = 0;
  /** The number of the sample after the last one of the sound that is heard. */
  #end = 0;
  #untold = 0;

  /** Frames that were played, concealed, and thrown away because they came too late. */
  heard = 0;
  concealed = 0;
  late = 0;
  /** How often the place was moved. */
  moves = 0;
  /** How much later than due the last sample was heard; `null` in silence. */
  skewMs: number | null = null;

  push(frame: VoiceFrame): void {
    if (!this.#timeline.takes(frame.dueMs)) {
      this.late += 1;
      return;
    }
    this.#untold = 0;
    this.#append(frame);
  }

  /** Fills `output`, whose first sample is heard at `nowMs`. */
  render(output: Float32Array, nowMs: number): void {
    const due = this.#timeline.due(nowMs);
    this.#aim(due);
    this.#end = this.#soundEnd();
    for (let at = 0; at < output.length; at++) {
      output[at] = this.#next();
    }
    const place = this.#place();
    this.skewMs = due === null || place === null ? null : msOf(due + output.length - place);
  }

  clear(): void {
    this.#timeline.clear();
    this.#concealer = new Concealer();
    this.#position = null;
    this.#move = null;
    this.skewMs = null;
  }

  #append({ dueMs, samples }: VoiceFrame): void {
    this.#timeline.push(this.#samples.end, dueMs);
    if (samples === null) {
      this.concealed += 1;
      this.#samples.push(this.#concealer.conceal(FRAME_SAMPLES));
    } else {
      this.heard += 1;
      this.#samples.push(this.#concealer.take(ofOneFrame(samples)));
    }
  }

  /** The number of the sample that is heard next, as if a move were done. */
  #place(): number | null {
    return this.#position === null ? null : this.#position + (this.#move?.by ?? 0);
  }

  /** Begins to go where what is due is, if that is far. */
  #aim(due: number | null): void {
    const place = this.#place();
    if (due === null) {
      return;
    }
    const far = place === null ? Number.POSITIVE_INFINITY : Math.abs(due - place);
    if (place === null || far > JUMP) {
      this.#position = Math.round(due);
      this.#move = null;
      this.#sounding = 0;
    } else if (far > TOLERANCE && this.#move === null) {
      this.#move = this.#moveFrom(place, Math.round(due) - place);
    }
  }

  /** The best move by about this much; `null` while too little is here to tell. */
  #moveFrom(place: number, wanted: number): { readonly by: number; done: number } | null {
    const { start, end } = this.#samples;
    const from = Math.max(wanted - SEARCH, start - place + OVERLAP);
    const to = Math.min(wanted + SEARCH, end - place - OVERLAP);
    if (place + OVERLAP > end || from > to) {
      return null;
    }
    const by = best(from, to, (candidate, step) => {
      const [a, b] = [place - OVERLAP, place + candidate - OVERLAP];
      // Of two as good ones the nearer, in silence, too.
      const farther = Math.abs(candidate - wanted) / 1e5;
      return likeness(this.#samples, a, b, 2 * OVERLAP, step) - farther;
    });
    this.moves += 1;
    return { by, done: 0 };
  }

  #next(): number {
    const position = this.#position;
    if (position === null || (position >= this.#end && !this.#goesOn())) {
      return 0;
    }
    this.#sounding += 1;
    const sample = this.#gain(position) * this.#moving(position);
    this.#advance(position);
    return sample;
  }

  /** Sound fades in, and out where it is known to end. */
  #gain(position: number): number {
    const isLast = this.#end < this.#samples.end || !this.#mayConceal();
    const left = isLast ? this.#end - position : FADE;
    return Math.min(1, this.#sounding / FADE, left / FADE);
  }

  /** Whether there is sound after all where the last one ended; else there is silence. */
  #goesOn(): boolean {
    const { endMs } = this.#timeline;
    if (this.#position === this.#samples.end && endMs !== null && this.#mayConceal()) {
      this.#untold += 1;
      this.#append({ dueMs: endMs, samples: null });
      this.#end = this.#soundEnd();
      return true;
    }
    this.#position = null;
    this.#move = null;
    return false;
  }

  #mayConceal(): boolean {
    return this.#untold < CONCEALED_UNTOLD_MAX;
  }

  /** Where the sound ends that is heard now: known where silence follows, or nothing is to come. */
  #soundEnd(): number {
    if (this.#position === null) {
      return 0;
    }
    const heard = this.#sounding > 0 ? this.#position - 1 : this.#position;
    return this.#timeline.soundEnd(heard);
  }

  /** The sample at this position, on the way to where a move leads. */
  #moving(position: number): number {
    const here = this.#samples.at(position);
    if (this.#move === null) {
      return here;
    }
    const share = (this.#move.done + 1) / OVERLAP;
    return here * (1 - share) + this.#samples.at(position + this.#move.by) * share;
  }

  #advance(position: number): void {
    this.#position = position + 1;
    if (this.#move !== null && ++this.#move.done === OVERLAP) {
      this.#position += this.#move.by;
      this.#move = null;
    }
  }
}

/** A decoder may return a little more or less at its beginning. */
function ofOneFrame(samples: Float32Array): Float32Array {
  if (samples.length === FRAME_SAMPLES) {
    return samples;
  }
  const frame = new Float32Array(FRAME_SAMPLES);
  frame.set(samples.subarray(0, FRAME_SAMPLES));
  return frame;
}
