/** Small pictures of channels, as they were when they were watched last. */

const WIDTH = 320;
const EVERY_MS = 5_000;

export class Thumbnails {
  readonly #canvas: OffscreenCanvas;
  readonly #user: (channel: number, picture: ImageBitmap) => void;
  /** Whose picture is on the canvas. */
  channel: number | null = null;

  constructor(canvas: OffscreenCanvas, user: (channel: number, picture: ImageBitmap) => void) {
    this.#canvas = canvas;
    this.#user = user;
    setInterval(() => this.take(), EVERY_MS);
  }

  take(): void {
    const { channel } = this;
    const { width, height } = this.#canvas;
    if (channel === null || width === 0 || height === 0) {
      return;
    }
    const small = new OffscreenCanvas(WIDTH, Math.max(1, Math.round((WIDTH * height) / width)));
    small
      .getContext('2d', { alpha: false })
      ?.drawImage(this.#canvas, ...([0, 0, small.width, small.height] as const));
    this.#user(channel, small.transferToImageBitmap());
  }
}
