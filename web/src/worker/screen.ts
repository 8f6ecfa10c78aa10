/** Puts decoded pictures on the canvas, each at its time. */

import { DisplayQueue, type Waiting } from '../media/display-queue';
import { GapMeter } from '../media/gap-meter';
import { nowMs } from '../media/now';

interface Decoded<P> extends Waiting {
  readonly frame: VideoFrame;
  readonly picture: P;
}

export class Screen<P> {
  readonly canvas: OffscreenCanvas;
  readonly #context: OffscreenCanvasRenderingContext2D;
  readonly #queue = new DisplayQueue<Decoded<P>>();
  readonly #gaps = new GapMeter();
  readonly #onShown: (picture: P, nowMs: number) => void;
  /** How long after its time the picture on the screen appeared. */
  lateMs = 0;

  constructor(canvas: OffscreenCanvas, onShown: (picture: P, nowMs: number) => void) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) {
      throw new Error('the canvas gives no 2d context');
    }
    this.canvas = canvas;
    this.#context = context;
    this.#onShown = onShown;
    requestAnimationFrame(() => this.#display());
  }

  /** Pictures decoded and never shown. */
  get dropped(): number {
    return this.#queue.dropped;
  }

  longestGapMs(): number | null {
    return this.#gaps.longestMs(nowMs());
  }

  push(frame: VideoFrame, picture: P, dueMs: number): void {
    this.#queue.push({ frame, picture, dueMs, close: () => frame.close() }, nowMs());
  }

  /** Shows a picture without waiting for anything. */
  showNow(frame: VideoFrame, picture: P): void {
    this.#show({ frame, picture, dueMs: nowMs(), close: () => frame.close() });
  }

  /** The picture on the screen stays until the next one comes. */
  clear(): void {
    this.#queue.clear();
    this.#gaps.reset();
  }

  #display(): void {
    requestAnimationFrame(() => this.#display());
    const due = this.#queue.takeDue(nowMs());
    if (due !== null) {
      this.#show(due);
    }
  }

  #show(decoded: Decoded<P>): void {
    const { frame, picture, dueMs } = decoded;
    this.#fit(frame.displayWidth, frame.displayHeight);
    this.#context.drawImage(frame, 0, 0, this.canvas.width, this.canvas.height);
    decoded.close();
    const now = nowMs();
    this.lateMs = now - dueMs;
    this.#gaps.shown(now);
    this.#onShown(picture, now);
  }

  #fit(width: number, height: number): void {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
  }
}
