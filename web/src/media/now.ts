/** Milliseconds since the epoch, never stepping back, the same on all threads of the page. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
