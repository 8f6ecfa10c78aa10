/** What a decoder is spared that falls behind. */

/** Pictures that wait in the decoder from which on it has fallen behind. */
export const BEHIND_FROM = 6;

/** Pictures that wait in it at most once it has caught up. */
export const CAUGHT_UP_AT = 2;

/** For so long it must be behind: where playing begins, it gets many at once. */
export const PATIENCE_MS = 250;

/** What the decoder is asked to do with a picture. */
export type Load = 'whole' | 'base' | 'none';

/**
 * Once a decoder has been behind for a while, until it has caught up, it is spared what nothing
 * else needs: disposable pictures, and of others the enhancement.
 */
export class Relief {
  #sinceMs: number | null = null;
  #isBehind = false;

  /** What goes to a decoder in which so many pictures wait. */
  of(
    picture: { readonly disposable: boolean; readonly layers: number },
    waiting: number,
    nowMs: number,
  ): Load {
    this.#observe(waiting, nowMs);
    if (!this.#isBehind) {
      return 'whole';
    }
    if (picture.disposable) {
      return 'none';
    }
    return picture.layers > 1 ? 'base' : 'whole';
  }

  reset(): void {
    this.#sinceMs = null;
    this.#isBehind = false;
  }

  #observe(waiting: number, nowMs: number): void {
    if (waiting <= CAUGHT_UP_AT) {
      this.reset();
      return;
    }
    if (waiting < BEHIND_FROM && !this.#isBehind) {
      this.#sinceMs = null;
      return;
    }
    this.#sinceMs ??= nowMs;
    this.#isBehind ||= nowMs - this.#sinceMs >= PATIENCE_MS;
  }
}
