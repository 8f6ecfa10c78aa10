/** Whose small picture is asked for next: one after another, and none oftener than it is worth. */

/** As old may the picture of a channel become that is in view. */
export const EVERY_MS = 10_000;
/** An answer that has not come by then does not come. */
const PATIENCE_MS = 15_000;

export class Rota {
  /** Channels that are in view. */
  readonly #visible = new Set<number>();
  /** When each was asked for last. */
  readonly #askedMs = new Map<number, number>();
  #waitingFor: { readonly channel: number; readonly sinceMs: number } | null = null;

  setVisible(channel: number, isVisible: boolean): void {
    if (isVisible) {
      this.#visible.add(channel);
    } else {
      this.#visible.delete(channel);
    }
  }

  /** The picture came, or there is none. */
  answered(channel: number): void {
    if (this.#waitingFor?.channel === channel) {
      this.#waitingFor = null;
    }
  }

  /** Another connection: what was asked for does not come. */
  restart(): void {
    this.#waitingFor = null;
    this.#askedMs.clear();
  }

  /** The one of these to ask for now, if any: the one that waits for longest. */
  next(channels: readonly number[], nowMs: number): number | null {
    const waiting = this.#waitingFor;
    if (waiting !== null && nowMs < waiting.sinceMs + PATIENCE_MS) {
      return null;
    }
    const askedMs = (channel: number) => this.#askedMs.get(channel) ?? Number.NEGATIVE_INFINITY;
    const [next] = channels
      .filter((channel) => this.#visible.has(channel) && askedMs(channel) + EVERY_MS <= nowMs)
      .sort((one, other) => askedMs(one) - askedMs(other) || 0);
    if (next === undefined) {
      return null;
    }
    this.#askedMs.set(next, nowMs);
    this.#waitingFor = { channel: next, sinceMs: nowMs };
    return next;
  }
}
