/** Decodes pictures and puts each on the canvas at its time. */

import { Cushion } from '../media/cushion';
import { DisplayQueue, type Waiting } from '../media/display-queue';
import { GapMeter } from '../media/gap-meter';
import { nowMs } from '../media/now';
import { type Picture, PictureAssembler } from '../media/pictures';
import type { ProgramClock } from '../media/program-clock';
import type { MediaUnit } from '../protocol/media-unit';
import type { VideoFormat } from '../protocol/program';
import { ScreenMeter } from './screen-meter';

/** The decoder holds few pictures; what it does not return is forgotten. */
const DECODING_MAX = 64;
/** Chunk times only tell pictures apart; the decoder needs them to grow. */
const TICK_US = 1_000;

interface Decoded extends Waiting {
  readonly frame: VideoFrame;
  readonly picture: Picture;
}

export class VideoPlayer {
  readonly #canvas: OffscreenCanvas;
  readonly #context: OffscreenCanvasRenderingContext2D;
  readonly #clock: ProgramClock;
  readonly #problem: (text: string) => void;
  readonly #assembler = new PictureAssembler();
  readonly #queue = new DisplayQueue<Decoded>();
  readonly #gaps = new GapMeter();
  readonly #decoding = new Map<number, Picture>();
  readonly cushion = new Cushion();
  readonly meter = new ScreenMeter();
  #decoder: VideoDecoder | null = null;
  #format: VideoFormat | null = null;
  #waitsForKey = true;
  #tick = 0;
  /** How long after its time the picture on the screen appeared. */
  #displayLateMs = 0;

  constructor(canvas: OffscreenCanvas, clock: ProgramClock, problem: (text: string) => void) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) {
      throw new Error('the canvas gives no 2d context');
    }
    this.#canvas = canvas;
    this.#context = context;
    this.#clock = clock;
    this.#problem = problem;
    requestAnimationFrame(() => this.#display());
  }

  /** Starts anew with media of this format. */
  restart(format: VideoFormat | null): void {
    this.#closeDecoder();
    this.#assembler.reset();
    this.#gaps.reset();
    this.cushion.reset();
    this.meter.reset();
    this.#format = format;
    if (format !== null) {
      void this.#checkSupport(format);
    }
  }

  push(unit: MediaUnit): void {
    for (const picture of this.#assembler.push(unit)) {
      this.meter.arrived(picture, this.#decode(picture));
    }
  }

  get dropped(): number {
    return this.#queue.dropped;
  }

  get displayLateMs(): number {
    return this.#displayLateMs;
  }

  longestGapMs(): number | null {
    return this.#gaps.longestMs(nowMs());
  }

  async #checkSupport(format: VideoFormat): Promise<void> {
    if (typeof VideoDecoder === 'undefined') {
      this.#problem(
        'This browser cannot decode video in a page: WebCodecs is missing. ' +
          'Use a current one, at the address that the program printed.',
      );
      return;
    }
    const { supported } = await VideoDecoder.isConfigSupported(decoderConfig(format)).catch(() => ({
      supported: false,
    }));
    if (supported !== true) {
      this.#problem(`This browser cannot decode this video (${format.codec}).`);
    }
  }

  /** Whether the decoder took it. */
  #decode(picture: Picture): boolean {
    // A VP9 decoder would show a picture whose reference is missing in pieces of others; an H.264
    // decoder conceals what it lacks.
    const broken = picture.discontinuity && this.#format?.format === 'vp9';
    this.#waitsForKey = !picture.key && (this.#waitsForKey || broken);
    const decoder = this.#waitsForKey ? null : this.#openDecoder();
    if (decoder === null) {
      return false;
    }
    this.#tick += TICK_US;
    this.#decoding.set(this.#tick, picture);
    if (this.#decoding.size > DECODING_MAX) {
      const [oldest] = this.#decoding.keys();
      this.#decoding.delete(oldest ?? 0);
    }
    try {
      decoder.decode(
        new EncodedVideoChunk({
          type: picture.key ? 'key' : 'delta',
          timestamp: this.#tick,
          data: picture.data,
        }),
      );
      return true;
    } catch {
      this.#failed();
      return false;
    }
  }

  #openDecoder(): VideoDecoder | null {
    if (this.#decoder !== null || this.#format === null || typeof VideoDecoder === 'undefined') {
      return this.#decoder;
    }
    const decoder = new VideoDecoder({
      output: (frame) => this.#decoded(frame),
      error: () => this.#failed(),
    });
    this.#decoder = decoder;
    try {
      decoder.configure(decoderConfig(this.#format));
    } catch {
      this.#failed();
    }
    return this.#decoder;
  }

  #decoded(frame: VideoFrame): void {
    const picture = this.#decoding.get(frame.timestamp);
    this.#decoding.delete(frame.timestamp);
    if (picture === undefined) {
      frame.close();
      return;
    }
    this.meter.decoded += 1;
    const now = nowMs();
    const playAtMs = this.#clock.toLocalMs(picture.playAtUs);
    this.cushion.observe(now - playAtMs, now);
    const dueMs = playAtMs + this.cushion.ms;
    this.#queue.push({ frame, picture, dueMs, close: () => frame.close() });
  }

  /** The decoder is unusable after an error: a new one starts at the next key frame. */
  #failed(): void {
    this.meter.decodeErrors += 1;
    this.#dropDecoder();
  }

  #dropDecoder(): void {
    if (this.#decoder !== null && this.#decoder.state !== 'closed') {
      this.#decoder.close();
    }
    this.#decoder = null;
    this.#decoding.clear();
    this.#waitsForKey = true;
  }

  #closeDecoder(): void {
    this.#dropDecoder();
    this.#queue.clear();
  }

  #display(): void {
    requestAnimationFrame(() => this.#display());
    const now = nowMs();
    const due = this.#queue.takeDue(now);
    if (due === null) {
      return;
    }
    const { frame, picture } = due;
    this.#fit(frame.displayWidth, frame.displayHeight);
    this.#context.drawImage(frame, 0, 0, this.#canvas.width, this.#canvas.height);
    due.close();
    this.#displayLateMs = now - due.dueMs;
    this.#gaps.shown(now);
    this.meter.shown(picture, now, this.#canvas.width, this.#canvas.height);
  }

  #fit(width: number, height: number): void {
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
  }
}

function decoderConfig({ codec }: VideoFormat): VideoDecoderConfig {
  return { codec, optimizeForLatency: true };
}
