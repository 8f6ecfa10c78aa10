/** Brings pictures that the program sent to the screen. */

import { Cushion } from '../media/cushion';
import { DecodeQueue } from '../media/decode-queue';
import { nowMs } from '../media/now';
import { type Picture, PictureAssembler } from '../media/pictures';
import type { MediaUnit } from '../protocol/media-unit';
import type { VideoFormat } from '../protocol/program';
import { Video } from './video';

const POLL_MS = 10;

export class VideoPlayer {
  readonly video: Video<Picture>;
  readonly cushion = new Cushion();
  readonly #toLocalMs: (programUs: number) => number;
  readonly #assembler = new PictureAssembler();
  readonly #coded = new DecodeQueue<Picture>();

  constructor(
    canvas: OffscreenCanvas,
    toLocalMs: (programUs: number) => number,
    problem: (text: string) => void,
  ) {
    this.#toLocalMs = toLocalMs;
    this.video = new Video(canvas, {
      dueMs: ({ playAtUs }, now) => {
        const playAtMs = toLocalMs(playAtUs);
        this.cushion.observe(now - playAtMs, now);
        return playAtMs + this.cushion.ms;
      },
      onObstacle: problem,
    });
    setInterval(() => this.#poll(), POLL_MS);
  }

  /** Starts anew with media of this format. */
  restart(format: VideoFormat | null): void {
    this.video.restart(format);
    this.video.meter.reset();
    this.#assembler.reset();
    this.#coded.clear();
    this.cushion.reset();
  }

  push(unit: MediaUnit): void {
    for (const picture of this.#assembler.push(unit)) {
      this.#coded.push(picture, this.#toLocalMs(picture.playAtUs));
    }
    this.#poll();
  }

  #poll(): void {
    for (const picture of this.#coded.take(nowMs())) {
      this.video.push(picture);
    }
  }
}
