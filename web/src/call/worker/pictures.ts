/** Brings the other end's pictures to the screen, with the voice of the same moment. */

import type { Cushion } from '../../media/cushion';
import { DecodeQueue } from '../../media/decode-queue';
import { nowMs } from '../../media/now';
import { type Picture, PictureAssembler } from '../../media/pictures';
import { Video } from '../../worker/video';
import type { CallVideo } from '../protocol/agent';
import type { CallUnit } from '../protocol/media';

const POLL_MS = 10;
/** A key picture that was asked for needs a round trip and more. */
const ASK_EVERY_MS = 300;

interface Arrived extends Picture {
  /** When its last layer came. */
  readonly arrivedMs: number;
}

export interface PicturesUser {
  toLocalMs(playAtUs: number): number;
  /** Nothing can be decoded before a key picture. */
  onKeyWanted(): void;
  onProblem(text: string): void;
}

export class CallPictures {
  readonly video: Video<Arrived>;
  readonly #user: PicturesUser;
  readonly #assembler = new PictureAssembler();
  readonly #coded = new DecodeQueue<Arrived>();
  #format: CallVideo | null = null;
  #askedMs = Number.NEGATIVE_INFINITY;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(canvas: OffscreenCanvas, cushion: Cushion, user: PicturesUser) {
    this.#user = user;
    this.video = new Video(canvas, {
      dueMs: ({ playAtUs, arrivedMs }, now) => {
        const playAtMs = user.toLocalMs(playAtUs);
        // What the networks made late must not make the voice late, too.
        cushion.observe(now - Math.max(playAtMs, arrivedMs), now);
        return playAtMs + cushion.ms;
      },
      onObstacle: (text) => user.onProblem(text),
    });
    this.#timer = setInterval(() => this.#poll(), POLL_MS);
  }

  /** Shows nothing any more. */
  close(): void {
    clearInterval(this.#timer);
    this.video.restart(null);
  }

  /** Pictures of this format follow. A new size needs no new decoder, a new codec does. */
  setFormat(format: CallVideo | null): void {
    const was = this.#format;
    this.#format = format;
    if (was?.codec !== format?.codec || was?.format !== format?.format) {
      this.restart();
    }
  }

  /** From a key picture on. */
  restart(): void {
    this.video.restart(this.#format);
    this.#assembler.reset();
    this.#coded.clear();
  }

  push(unit: CallUnit): void {
    if (this.#format === null) {
      return;
    }
    for (const picture of this.#assembler.push(unit)) {
      const arrived = { ...picture, arrivedMs: nowMs() };
      this.#coded.push(arrived, this.#user.toLocalMs(picture.playAtUs));
    }
    this.#poll();
  }

  #poll(): void {
    const now = nowMs();
    const pictures = this.#coded.take(now);
    for (const picture of pictures) {
      this.video.push(picture);
    }
    const isAsked = now - this.#askedMs < ASK_EVERY_MS;
    if (pictures.length > 0 && this.video.waitsForKey && !isAsked) {
      this.#askedMs = now;
      this.#user.onKeyWanted();
    }
  }
}
