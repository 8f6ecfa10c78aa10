/**
 * What arrived of one member's voice and pictures, at its time and in step: the page's counterpart
 * of `crates/call/src/playout`.
 */

import { PlayoutClock } from '../../media/playout-clock';
import type { MediaMessage } from '../../television/protocol/media';
import { PicturePlayout, type SeenPicture } from './pictures';
import { type HeardFrame, VoicePlayout } from './voice';

/** What is to be heard or seen next. */
export type Played =
  | ({ readonly track: 'audio' } & HeardFrame)
  | ({ readonly track: 'video' } & SeenPicture);

export class MemberPlayout {
  readonly voice = new VoicePlayout();
  readonly pictures = new PicturePlayout();
  #clock = new PlayoutClock(0);
  /** The sender's start. */
  #session: number | null = null;

  push(nowUs: number, message: MediaMessage): void {
    const { session, atUs, track, frame, index, last } = message.header;
    if (this.#session !== session || this.#clock.isBrokenBy(nowUs, atUs)) {
      this.#session = session;
      this.#restart();
    }
    if (track === 'video') {
      this.#clock.sample(nowUs, atUs);
      this.pictures.push(message);
    } else if (index === 0 && last) {
      this.#clock.sample(nowUs, atUs);
      this.voice.push(nowUs, frame, atUs, this.#local(atUs), message.payload);
    }
  }

  /** What is to be heard or seen next, if anything is. */
  poll(nowUs: number): Played | null {
    this.#clock.advance(nowUs);
    const local = (capturedUs: number) => this.#local(capturedUs);
    const heard = this.voice.poll(nowUs, local);
    const seen = heard === null ? this.pictures.poll(nowUs, this.voice.delayUs, local) : null;
    if (heard !== null || seen !== null) {
      this.#clock.settle();
    }
    if (heard !== null) {
      return { track: 'audio', ...heard };
    }
    return seen === null ? null : { track: 'video', ...seen };
  }

  #local(capturedUs: number): number {
    return capturedUs + this.#clock.exactOffsetUs;
  }

  #restart(): void {
    this.#clock = new PlayoutClock(0);
    this.voice.restart();
    this.pictures.restart();
  }
}
