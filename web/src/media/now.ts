/** Milliseconds since the epoch, never stepping back, the same on all threads of the page. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The same in whole microseconds. */
export function nowUs(): number {
  return Math.round(nowMs() * 1_000);
}
