/** Decoded pictures that wait for their time. */

/** What is queued; a decoded picture holds memory of the decoder until it is closed. */
export interface Waiting {
  readonly dueMs: number;
  close(): void;
}

/** More would only starve the decoder of buffers. */
export const WAITING_MAX = 12;

export class DisplayQueue<P extends Waiting> {
  #waiting: P[] = [];

  /** Pictures closed without having been shown. */
  dropped = 0;

  /**
   * Beyond what may wait, the oldest goes if its time has passed, as on a hidden page, which shows
   * nothing; else the last, so that there is something to show when its time comes.
   */
  push(picture: P, nowMs: number): void {
    const at = this.#waiting.findLastIndex((earlier) => earlier.dueMs <= picture.dueMs) + 1;
    this.#waiting.splice(at, 0, picture);
    if (this.#waiting.length > WAITING_MAX) {
      const [oldest] = this.#waiting;
      const isPast = oldest !== undefined && oldest.dueMs < nowMs;
      this.#drop(isPast ? 0 : this.#waiting.length - 1);
    }
  }

  /** The newest picture that is due; older ones are dropped. The caller closes what it gets. */
  takeDue(nowMs: number): P | null {
    const due = this.#waiting.findLastIndex((picture) => picture.dueMs <= nowMs);
    if (due < 0) {
      return null;
    }
    this.#drop(0, due);
    return this.#waiting.shift() ?? null;
  }

  clear(): void {
    for (const picture of this.#waiting) {
      picture.close();
    }
    this.#waiting = [];
    this.dropped = 0;
  }

  #drop(from: number, number = 1): void {
    for (const picture of this.#waiting.splice(from, number)) {
      picture.close();
      this.dropped += 1;
    }
  }
}
