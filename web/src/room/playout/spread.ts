/** How much later than the earliest ones the last frames came. */

/** How long an arrival is remembered. */
const WINDOW_US = 10_000_000;
/** Those of the window, and more if they come faster. */
const ARRIVALS_MAX = 600;

export class Spread {
  #arrivals: { readonly atUs: number; readonly lateUs: number }[] = [];

  /** A frame came so much later than the earliest ones. */
  note(nowUs: number, lateUs: number): void {
    const isKept = ({ atUs }: { readonly atUs: number }) => nowUs - atUs <= WINDOW_US;
    let oldest = this.#arrivals[0];
    while (oldest !== undefined && (!isKept(oldest) || this.#arrivals.length >= ARRIVALS_MAX)) {
      this.#arrivals.shift();
      oldest = this.#arrivals[0];
    }
    this.#arrivals.push({ atUs: nowUs, lateUs });
  }

  /** What the latest of them needed: what was late once is late again where packets are lost. */
  get neededUs(): number {
    return this.#arrivals.reduce((most, { lateUs }) => Math.max(most, lateUs), 0);
  }

  clear(): void {
    this.#arrivals = [];
  }
}
