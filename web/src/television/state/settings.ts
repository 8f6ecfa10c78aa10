/** What the viewer chose, kept for the next visit. */

import { effect, signal } from '@preact/signals';

/** How long media may take from the server's hand to the screen. */
export const LATENCIES: readonly { readonly ms: number; readonly name: string }[] = [
  { ms: 150, name: 'Fast' },
  { ms: 300, name: 'Normal' },
  { ms: 1_000, name: 'Safe' },
  { ms: 3_000, name: 'Very safe' },
];

export const latencyMs = stored('latency', 300);
export const volume = stored('volume', 0.8);
export const muted = stored('muted', 0);
export const lastNumber = stored('channel', 0);

/** A number that survives the visit, where the browser stores anything. */
function stored(name: string, otherwise: number) {
  const key = `anabranch-tv-${name}`;
  const value = signal(read(key) ?? otherwise);
  effect(() => {
    try {
      localStorage.setItem(key, String(value.value));
    } catch {
      // A browser that stores nothing forgets the choice on reload; the choice itself holds.
    }
  });
  return value;
}

function read(key: string): number | null {
  try {
    const text = localStorage.getItem(key);
    const value = text === null ? Number.NaN : Number(text);
    return Number.isFinite(value) && value >= 0 ? value : null;
  } catch {
    return null;
  }
}
