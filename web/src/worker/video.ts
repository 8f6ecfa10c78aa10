/** Decodes pictures, and puts each on the canvas at its time. */

import { nowMs } from '../media/now';
import { Relief } from '../media/relief';
import { obstacleTo, PictureDecoder } from './picture-decoder';
import { Screen } from './screen';
import { ScreenMeter } from './screen-meter';

const FORMATS = ['vp9', 'vp8', 'annexb', 'av1'];

/** What the decoder must know. */
export interface PictureFormat {
  readonly codec: string;
  /** What a picture's bytes are. */
  readonly format: string;
}

/** A picture, ready for the decoder. */
export interface Coded {
  readonly frame: number;
  readonly key: boolean;
  /** Something that it may refer to is missing. */
  readonly discontinuity: boolean;
  /** How many layers came: 1 is the base alone. */
  readonly layers: number;
  /** Nothing is predicted from it. */
  readonly disposable: boolean;
  readonly data: Uint8Array;
  /** The base layer alone. */
  readonly base: Uint8Array;
}

export interface VideoUser<P> {
  /** When a picture that was decoded is to be seen; null for at once. */
  dueMs(picture: P, nowMs: number): number | null;
  /** Why the pictures cannot be seen, as a whole sentence. */
  onObstacle(text: string): void;
}

export class Video<P extends Coded> {
  readonly meter = new ScreenMeter();
  readonly #user: VideoUser<P>;
  readonly #decoder = new PictureDecoder<P>((frame, picture) => this.#decoded(frame, picture));
  readonly #screen: Screen<P>;
  readonly #relief = new Relief();
  #format: PictureFormat | null = null;
  /** Pictures that the decoder was spared, in whole or in part. */
  spared = 0;

  constructor(canvas: OffscreenCanvas, user: VideoUser<P>) {
    this.#user = user;
    this.#screen = new Screen(canvas, (picture, now) =>
      this.meter.shown(picture, now, canvas.width, canvas.height),
    );
  }

  get dropped(): number {
    return this.#screen.dropped;
  }

  get decodeErrors(): number {
    return this.#decoder.errors;
  }

  /** Whether nothing can be decoded before the next key frame. */
  get waitsForKey(): boolean {
    return this.#decoder.waitsForKey;
  }

  /** How long after its time the picture on the screen appeared. */
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
    this.#relief.reset();
    this.spared = 0;
  }

  /** Pictures of this format follow, from a key frame on. */
  restart(format: PictureFormat | null): void {
    this.#format = format;
    this.forget();
    if (format !== null) {
      void this.#checkSupport(format);
    }
  }

  push(picture: P): void {
    // An H.264 decoder conceals what it lacks; others would show it in pieces of other pictures.
    if (picture.discontinuity && this.#format?.format !== 'annexb') {
      this.#decoder.awaitKey();
    }
    const coded = this.#lightened(picture);
    this.meter.arrived(coded ?? picture, coded !== null && this.#decoder.decode(coded));
  }

  /** What the decoder gets of a picture while it is behind; null for nothing. */
  #lightened(picture: P): P | null {
    const load = this.#relief.of(picture, this.#decoder.waiting, nowMs());
    if (load === 'whole') {
      return picture;
    }
    this.spared += 1;
    return load === 'none' ? null : { ...picture, layers: 1, data: picture.base };
  }

  async #checkSupport(format: PictureFormat): Promise<void> {
    const obstacle = FORMATS.includes(format.format)
      ? await obstacleTo(format.codec)
      : `This page cannot play this video (${format.format}).`;
    if (obstacle !== null && this.#format === format) {
      this.#user.onObstacle(obstacle);
    }
  }

  #decoded(frame: VideoFrame, picture: P): void {
    this.meter.decoded += 1;
    const dueMs = this.#user.dueMs(picture, nowMs());
    if (dueMs === null) {
      this.#screen.showNow(frame, picture);
    } else {
      this.#screen.push(frame, picture, dueMs);
    }
  }
}
