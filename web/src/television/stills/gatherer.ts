/** Puts the parts of a single picture together: they come in order, or not at all. */

import type { StillAnswer, VideoFormat } from '../protocol/control';
import type { MediaMessage } from '../protocol/media';

/** More than a server sends: see docs/television.md. */
const BYTES_MAX = 512 * 1024;

export interface Still {
  readonly channel: number;
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
    const answer = this.#answer;
    const isOf = answer?.session === header.session && answer.frame === header.frame;
    const video = answer?.video ?? null;
    this.#bytes += payload.length;
    const isNext = header.index === this.#parts.length && this.#bytes <= BYTES_MAX;
    if (!isOf || video === null || !isNext) {
      // A part is missing: the others are of no use.
      this.#answer = null;
      return null;
    }
    this.#parts.push(payload);
    if (!header.last) {
      return null;
    }
    this.#answer = null;
    return { channel: answer.channel, video, payload: joined(this.#parts, this.#bytes) };
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
