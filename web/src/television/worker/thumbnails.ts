/** Small pictures: of the channel that is watched, and how they are made. */

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
    this.#user(channel, shrunk(this.#canvas, width, height));
  }
}

/** A small copy of a picture of this size. */
export function shrunk(picture: CanvasImageSource, width: number, height: number): ImageBitmap {
  const small = new OffscreenCanvas(WIDTH, Math.max(1, Math.round((WIDTH * height) / width)));
  small.getContext('2d', { alpha: false })?.drawImage(picture, 0, 0, small.width, small.height);
  return small.transferToImageBitmap();
}
