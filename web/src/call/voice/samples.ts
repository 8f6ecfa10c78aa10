/** Voice in a call: one channel at this rate, in frames of 20 ms. */

export const RATE = 48_000;
export const SAMPLES_PER_MS = RATE / 1_000;
export const FRAME_MS = 20;
export const FRAME_SAMPLES = FRAME_MS * SAMPLES_PER_MS;

/** A power of two: about 2.7 s. */
const CAPACITY = 131_072;

/** The last samples of a stream, by their number in it. */
export class Samples {
  readonly #ring = new Float32Array(CAPACITY);
  /** The number of the next sample. */
  end = 0;

  /** The number of the oldest sample that is still there. */
  get start(): number {
    return Math.max(0, this.end - CAPACITY);
  }

  push(samples: Float32Array): void {
    for (const sample of samples) {
      this.#ring[this.end++ % CAPACITY] = sample;
    }
  }

  /** Silence for what is not there. */
  at(number: number): number {
    return number < this.start || number >= this.end ? 0 : (this.#ring[number % CAPACITY] ?? 0);
  }
}

/**
 * How alike two stretches of `length` samples are that begin at `a` and `b`: 1 for the same shape,
 * 0 for nothing in common; every `step`th sample counts.
 */
export function likeness(
  samples: Pick<Samples, 'at'>,
  a: number,
  b: number,
  length: number,
  step = 1,
): number {
  let product = 0;
  let energyA = 1e-9;
  let energyB = 1e-9;
  for (let offset = 0; offset < length; offset += step) {
    const [first, second] = [samples.at(a + offset), samples.at(b + offset)];
    product += first * second;
    energyA += first * first;
    energyB += second * second;
  }
  return product / Math.sqrt(energyA * energyB);
}

/** The number from `from` to `to` with the highest score: every fourth first, then around it. */
export function best(from: number, to: number, score: (candidate: number, step: number) => number) {
  const coarse = highest(from, to, COARSE, (candidate) => score(candidate, COARSE));
  const [low, high] = [Math.max(from, coarse - COARSE), Math.min(to, coarse + COARSE)];
  return highest(low, high, 1, (candidate) => score(candidate, 1));
}

const COARSE = 4;

function highest(from: number, to: number, step: number, score: (candidate: number) => number) {
  let found = from;
  let most = Number.NEGATIVE_INFINITY;
  for (let candidate = from; candidate <= to; candidate += step) {
    const scored = score(candidate);
    if (scored > most) {
      most = scored;
      found = candidate;
    }
  }
  return found;
}
