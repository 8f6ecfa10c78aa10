/** Keeps frames of voice in their order while some are with the decoder. */

interface Waiting<F> {
  readonly frame: F;
  /** `undefined` while the decoder has it. */
  samples: Float32Array | null | undefined;
}

/** A decoder that holds so many returns none of them any more. */
export const WAITING_MAX = 25;

export class VoiceLine<F> {
  readonly #user: (frame: F, samples: Float32Array | null) => void;
  #waiting: Waiting<F>[] = [];

  /** `user` gets each frame in its turn; without samples it is to be concealed. */
  constructor(user: (frame: F, samples: Float32Array | null) => void) {
    this.#user = user;
  }

  /** The next frame, which the decoder has now. */
  decoding(frame: F): void {
    this.#waiting.push({ frame, samples: undefined });
    if (this.#waiting.length > WAITING_MAX) {
      this.failed();
    }
  }

  /** The next frame did not come. */
  missing(frame: F): void {
    this.#waiting.push({ frame, samples: null });
    this.#leave();
  }

  /** The decoder returned the first frame that it has. */
  decoded(samples: Float32Array): void {
    const first = this.#waiting.find((waiting) => waiting.samples === undefined);
    if (first !== undefined) {
      first.samples = samples;
      this.#leave();
    }
  }

  /** The decoder returns nothing of what it has. */
  failed(): void {
    for (const waiting of this.#waiting) {
      waiting.samples ??= null;
    }
    this.#leave();
  }

  clear(): void {
    this.#waiting = [];
  }

  #leave(): void {
    let [first] = this.#waiting;
    while (first !== undefined && first.samples !== undefined) {
      this.#user(first.frame, first.samples);
      this.#waiting.shift();
      [first] = this.#waiting;
    }
  }
}
