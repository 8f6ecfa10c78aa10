/** The values that a slider stops at: one key press goes from one to the next. */

const STEPS = 60;

/** Equal steps multiply: for rates. The range starts above 0. */
export function logarithmicStops([low, high]: readonly [number, number]): readonly number[] {
  return stops(low, high, (part) => twoDigits(low * (high / low) ** part));
}

/**
 * Fine near the low end, in whole multiples of `quantum`: for delays and losses, which may be 0.
 */
export function squaredStops(
  [low, high]: readonly [number, number],
  quantum: number,
): readonly number[] {
  return stops(low, high, (part) => {
    const value = low + (high - low) * part * part;
    return twoDigits(Math.round(value / quantum) * quantum);
  });
}

/** The stop to show for a value that may lie between two. */
export function nearestStop(stops: readonly number[], value: number): number {
  const above = stops.findIndex((stop) => stop >= value);
  if (above < 0) {
    return stops.length - 1;
  }
  const high = stops[above] ?? value;
  const low = stops[above - 1] ?? high;
  return above > 0 && value - low < high - value ? above - 1 : above;
}

function stops(low: number, high: number, at: (part: number) => number): readonly number[] {
  const values = Array.from({ length: STEPS + 1 }, (_, step) =>
    Math.min(high, Math.max(low, at(step / STEPS))),
  );
  return [...new Set([low, ...values, high])].sort((a, b) => a - b);
}

function twoDigits(value: number): number {
  return Number(value.toPrecision(2));
}
