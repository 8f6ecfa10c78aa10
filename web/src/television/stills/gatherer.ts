/** Puts the parts of a single picture together: they come in order, or not at all. */

import type { StillAnswer, VideoFormat } from '../protocol/control';
import type { MediaMessage } from '../protocol/media';

/** More than a server sends: see docs/television.md. */
const BYTES_MAX = 512 * 1024;

export interface Still {
  readonly video: VideoFormat;
  readonly payload: Uint8Array;
}

export class StillGatherer {
  #answer: StillAnswer | null = null;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** What follows is of this picture. */
  begin(answer: StillAnswer): void {
    this.#answer = answer;
    this.#parts = [];
    this.#bytes = 0;
  }

  /** The picture, if it is whole now. */
  push({ header, payload }: MediaMessage): Still | null {
    const { channel, epoch, frame, fragment, fragments } = header;
    const answer = this.#answer;
    const isOf = answer?.channel === channel && answer.epoch === epoch && answer.frame === frame;
    const video = answer?.video ?? null;
    this.#bytes += payload.length;
    if (!isOf || video === null || this.#bytes > BYTES_MAX || fragment !== this.#parts.length) {
      // A part is missing: the others are of no use.
      this.#answer = null;
      return null;
    }
    this.#parts.push(payload);
    if (this.#parts.length < fragments) {
      return null;
    }
    this.#answer = null;
    return { video, payload: joined(this.#parts, this.#bytes) };
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
