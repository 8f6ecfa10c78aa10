/** What the user is setting, shown at once while the program has not confirmed it yet. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const SEND_EVERY_MS = 100;
/** Long enough for the program's next statistics to carry the new value. */
const HELD_MS = 700;

/**
 * Returns the value to show and the function that changes it; at most ten changes a second are
 * sent.
 */
export function useDraft<T>(actual: T, send: (value: T) => void): [T, (value: T) => void] {
  const draft = useSignal<{ readonly value: T } | null>(null);
  const timers = useRef({ send: 0, release: 0, sentAtMs: 0 });
  useEffect(() => () => stop(timers.current), []);

  const change = (value: T) => {
    const running = timers.current;
    draft.value = { value };
    stop(running);
    running.release = window.setTimeout(() => {
      draft.value = null;
    }, HELD_MS);
    const waitMs = Math.max(0, running.sentAtMs + SEND_EVERY_MS - performance.now());
    running.send = window.setTimeout(() => {
      running.sentAtMs = performance.now();
      send(value);
    }, waitMs);
  };
  return [draft.value === null ? actual : draft.value.value, change];
}

function stop(timers: { readonly send: number; readonly release: number }): void {
  window.clearTimeout(timers.send);
  window.clearTimeout(timers.release);
}
