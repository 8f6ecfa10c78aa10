/** Rates from counters that only grow. */

interface Reading {
  readonly atS: number;
  readonly counters: readonly (number | null)[];
}

export class CounterWindow {
  readonly #spanS: number;
  #readings: Reading[] = [];

  /** Looks back over `spanS` seconds. */
  constructor(spanS: number) {
    this.#spanS = spanS;
  }

  push(atS: number, counters: readonly (number | null)[]): void {
    this.#readings.push({ atS, counters });
    // The newest reading that is at least a span old stays: it is what the others are compared
    // with.
    while ((this.#readings[1]?.atS ?? atS) <= atS - this.#spanS) {
      this.#readings.shift();
    }
  }

  /** By how much a counter grew in the window; `null` while that is unknown. */
  growth(index: number): number | null {
    const first = this.#readings[0]?.counters[index] ?? null;
    const last = this.#readings.at(-1)?.counters[index] ?? null;
    return this.#readings.length < 2 || first === null || last === null
      ? null
      : Math.max(0, last - first);
  }

  perSecond(index: number): number | null {
    const growth = this.growth(index);
    const first = this.#readings[0];
    const last = this.#readings.at(-1);
    if (growth === null || first === undefined || last === undefined || last.atS <= first.atS) {
      return null;
    }
    return growth / (last.atS - first.atS);
  }
}
