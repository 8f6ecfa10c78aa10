/** Decodes pictures and puts each on the canvas at its time. */

import { Cushion } from '../media/cushion';
import { DecodeQueue } from '../media/decode-queue';
import { nowMs } from '../media/now';
import { type Picture, PictureAssembler } from '../media/pictures';
import type { ProgramClock } from '../media/program-clock';
import type { MediaUnit } from '../protocol/media-unit';
import type { VideoFormat } from '../protocol/program';
import { obstacleTo, PictureDecoder } from './picture-decoder';
import { Screen } from './screen';
import { ScreenMeter } from './screen-meter';

const POLL_MS = 10;

export class VideoPlayer {
  readonly #clock: ProgramClock;
  readonly #problem: (text: string) => void;
  readonly #assembler = new PictureAssembler();
  readonly #coded = new DecodeQueue<Picture>();
  readonly #decoder = new PictureDecoder<Picture>((frame, picture) =>
    this.#decoded(frame, picture),
  );
  readonly #screen: Screen<Picture>;
  readonly cushion = new Cushion();
  readonly meter = new ScreenMeter();
  #format: VideoFormat | null = null;
  #errorsBefore = 0;

  constructor(canvas: OffscreenCanvas, clock: ProgramClock, problem: (text: string) => void) {
    this.#clock = clock;
    this.#problem = problem;
    this.#screen = new Screen(canvas, (picture, now) =>
      this.meter.shown(picture, now, canvas.width, canvas.height),
    );
    setInterval(() => this.#poll(), POLL_MS);
  }

  /** Starts anew with media of this format. */
  restart(format: VideoFormat | null): void {
    this.#decoder.restart(format?.codec ?? null);
    this.#errorsBefore = this.#decoder.errors;
    this.#screen.clear();
    this.#assembler.reset();
    this.#coded.clear();
    this.cushion.reset();
    this.meter.reset();
    this.#format = format;
    if (format !== null) {
      void this.#checkSupport(format);
    }
  }

  push(unit: MediaUnit): void {
    for (const picture of this.#assembler.push(unit)) {
      this.#coded.push(picture, this.#clock.toLocalMs(picture.playAtUs));
    }
    this.#poll();
  }

  get dropped(): number {
    return this.#screen.dropped;
  }

  get decodeErrors(): number {
    return this.#decoder.errors - this.#errorsBefore;
  }

  get displayLateMs(): number {
    return this.#screen.lateMs;
  }

  longestGapMs(): number | null {
    return this.#screen.longestGapMs();
  }

  #poll(): void {
    for (const picture of this.#coded.take(nowMs())) {
      this.meter.arrived(picture, this.#decode(picture));
    }
  }

  async #checkSupport({ codec }: VideoFormat): Promise<void> {
    const obstacle = await obstacleTo(codec);
    if (obstacle !== null) {
      this.#problem(obstacle);
    }
  }

  /** Whether the decoder took it. */
  #decode(picture: Picture): boolean {
    // An H.264 decoder conceals what it lacks; others would show a picture whose reference is
    // missing in pieces of others.
    if (picture.discontinuity && this.#format?.format !== 'annexb') {
      this.#decoder.awaitKey();
    }
    return this.#decoder.decode(picture);
  }

  #decoded(frame: VideoFrame, picture: Picture): void {
    this.meter.decoded += 1;
    const now = nowMs();
    const playAtMs = this.#clock.toLocalMs(picture.playAtUs);
    this.cushion.observe(now - playAtMs, now);
    this.#screen.push(frame, picture, playAtMs + this.cushion.ms);
  }
}
