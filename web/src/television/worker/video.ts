/** Decodes the pictures of the channel that is watched, and shows them. */

import { nowMs } from '../../media/now';
import { superframe } from '../../media/superframe';
import { obstacleTo, PictureDecoder } from '../../worker/picture-decoder';
import { Screen } from '../../worker/screen';
import { ScreenMeter } from '../../worker/screen-meter';
import type { Released } from '../playout/playout';
import type { VideoFormat } from '../protocol/control';

const FORMATS = ['vp9', 'annexb', 'av1'];

interface Coded {
  readonly frame: number;
  readonly key: boolean;
  readonly ptsUs: number;
  readonly layers: number;
  readonly data: Uint8Array;
}

export interface VideoUser {
  /** When a picture is to be seen. */
  dueMs(ptsUs: number): number;
  /** The first picture of what was asked for last is on the screen. */
  onFirst(ptsUs: number, nowMs: number): void;
  onObstacle(text: string): void;
}

export class Video {
  readonly meter = new ScreenMeter();
  readonly #user: VideoUser;
  readonly #decoder = new PictureDecoder<Coded>((frame, picture) => this.#decoded(frame, picture));
  readonly #screen: Screen<Coded>;
  #format: VideoFormat | null = null;
  #awaitsFirst = true;

  constructor(canvas: OffscreenCanvas, user: VideoUser) {
    this.#user = user;
    this.#screen = new Screen(canvas, (picture, now) =>
      this.meter.shown(picture, now, canvas.width, canvas.height),
    );
  }

  get canvas(): OffscreenCanvas {
    return this.#screen.canvas;
  }

  get dropped(): number {
    return this.#screen.dropped;
  }

  get decodeErrors(): number {
    return this.#decoder.errors;
  }

  get lateMs(): number {
    return this.#screen.lateMs;
  }

  longestGapMs(): number | null {
    return this.#screen.longestGapMs();
  }

  /** Nothing of what came before is wanted; the last picture stays until there is another. */
  forget(): void {
    this.#decoder.restart(this.#format?.codec ?? null);
    this.#screen.clear();
    this.#awaitsFirst = true;
  }

  /** Pictures of this format follow, from a key frame on. */
  restart(format: VideoFormat | null): void {
    this.#format = format;
    this.forget();
    if (format !== null) {
      void this.#checkSupport(format);
    }
  }

  push(picture: Released): void {
    const { frame, key, ptsUs, layers, discontinuity } = picture;
    // An H.264 decoder conceals what it lacks; others would show it in pieces of other pictures.
    if (discontinuity && this.#format?.format !== 'annexb') {
      this.#decoder.awaitKey();
    }
    const data = superframe(layers);
    const coded = { frame, key, ptsUs, layers: layers.length, data };
    this.meter.arrived(coded, this.#decoder.decode(coded));
  }

  async #checkSupport(format: VideoFormat): Promise<void> {
    const obstacle = FORMATS.includes(format.format)
      ? await obstacleTo(format.codec)
      : `This page cannot play this video (${format.format}).`;
    if (obstacle !== null && this.#format === format) {
      this.#user.onObstacle(obstacle);
    }
  }

  #decoded(frame: VideoFrame, picture: Coded): void {
    this.meter.decoded += 1;
    if (!this.#awaitsFirst) {
      this.#screen.push(frame, picture, this.#user.dueMs(picture.ptsUs));
      return;
    }
    this.#awaitsFirst = false;
    this.#screen.showNow(frame, picture);
    this.#user.onFirst(picture.ptsUs, nowMs());
  }
}
