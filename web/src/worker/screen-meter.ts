/** Counts what is on the screen. */

/** What is counted of a picture. */
export interface Counted {
  readonly frame: number;
  /** How many layers came: 1 is the base alone. */
  readonly layers: number;
  readonly data: Uint8Array;
}

const WINDOW_MS = 1_000;
/** A gap in the numbers longer than this is a jump of the stream, not so many lost pictures. */
const LOST_AT_ONCE_MAX = 250;

export class ScreenMeter {
  decoded = 0;
  displayed = 0;
  layers = 0;
  width = 0;
  height = 0;
  #recent: { readonly atMs: number; readonly bytes: number }[] = [];
  #pictures: number[] = [];
  #lastFrame: number | null = null;

  /** A picture came; `decodable`: not in vain. */
  arrived(picture: Counted, decodable: boolean): void {
    if (this.#lastFrame === null && !decodable) {
      // Nothing is missing before the first picture.
      return;
    }
    const lost = this.#lastFrame === null ? 0 : (picture.frame - this.#lastFrame - 1) >>> 0;
    this.#lastFrame = picture.frame;
    if (lost <= LOST_AT_ONCE_MAX) {
      this.#pictures.push(...new Array<number>(lost).fill(0));
    }
    this.#pictures.push(decodable ? picture.layers : 0);
  }

  shown(picture: Counted, nowMs: number, width: number, height: number): void {
    this.displayed += 1;
    this.layers = picture.layers;
    this.width = width;
    this.height = height;
    this.#recent.push({ atMs: nowMs, bytes: picture.data.length });
  }

  /** Pictures and kbit/s shown during the last second. */
  rates(nowMs: number): { readonly fps: number; readonly kbps: number } {
    this.#recent = this.#recent.filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
    const bytes = this.#recent.reduce((sum, shown) => sum + shown.bytes, 0);
    return { fps: this.#recent.length, kbps: (bytes * 8) / WINDOW_MS };
  }

  /** The pictures since the last call, as `ScreenReport.pictures` has them. */
  takePictures(): readonly number[] {
    const taken = this.#pictures;
    this.#pictures = [];
    return taken;
  }

  reset(): void {
    this.decoded = 0;
    this.displayed = 0;
    this.layers = 0;
    this.#recent = [];
    this.#pictures = [];
    this.#lastFrame = null;
  }
}
