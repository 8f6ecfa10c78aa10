/** Decoded pictures that wait for their time. */

/** What is queued; a decoded picture holds memory of the decoder until it is closed. */
export interface Waiting {
  readonly dueMs: number;
  close(): void;
}

/**
 * More would only starve the decoder of buffers: a hidden page shows nothing, and its pictures
 * pile up.
 */
export const WAITING_MAX = 12;

export class DisplayQueue<P extends Waiting> {
  #waiting: P[] = [];

  /** Pictures closed without having been shown. */
  dropped = 0;

  push(picture: P): void {
    const at = this.#waiting.findLastIndex((earlier) => earlier.dueMs <= picture.dueMs) + 1;
    this.#waiting.splice(at, 0, picture);
    if (this.#waiting.length > WAITING_MAX) {
      this.#drop(1);
    }
  }

  /** The newest picture that is due; older ones are dropped. The caller closes what it gets. */
  takeDue(nowMs: number): P | null {
    const due = this.#waiting.findLastIndex((picture) => picture.dueMs <= nowMs);
    if (due < 0) {
      return null;
    }
    this.#drop(due);
    return this.#waiting.shift() ?? null;
  }

  clear(): void {
    for (const picture of this.#waiting) {
      picture.close();
    }
    this.#waiting = [];
    this.dropped = 0;
  }

  #drop(number: number): void {
    for (const picture of this.#waiting.splice(0, number)) {
      picture.close();
      this.dropped += 1;
    }
  }
}
