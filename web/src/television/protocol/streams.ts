/** The structure of streams: which data channel carries what (docs/television.md). */

/** Channels that can be on their way at once: the next one is taken at each change. */
export const SLOTS = 8;

const FIRST_SLOT_STREAM = 2;
const SLOT_STREAMS = 4;

/** Single pictures of channels that are not watched, behind all else. */
export const STILL_STREAM = FIRST_SLOT_STREAM + SLOTS * SLOT_STREAMS;

/** Data channels of a connection; their ids count from 0. */
export const STREAMS = STILL_STREAM + 1;

export const CONTROL_STREAM = 0;
export const URGENT_STREAM = 1;

export type StreamRole =
  | { readonly kind: 'control' | 'urgent' | 'still' }
  | { readonly kind: 'data' | 'base' | 'enhancement' | 'audio'; readonly slot: number };

const SLOT_KINDS = ['data', 'base', 'enhancement', 'audio'] as const;

/** What a stream below {@link STREAMS} is for. */
export function roleOf(stream: number): StreamRole {
  if (stream === CONTROL_STREAM) {
    return { kind: 'control' };
  }
  if (stream === URGENT_STREAM) {
    return { kind: 'urgent' };
  }
  if (stream === STILL_STREAM) {
    return { kind: 'still' };
  }
  const place = stream - FIRST_SLOT_STREAM;
  const kind = SLOT_KINDS[place % SLOT_STREAMS] ?? 'data';
  return { kind, slot: Math.floor(place / SLOT_STREAMS) };
}

/** The stream of a slot's requests. */
export function dataStream(slot: number): number {
  return FIRST_SLOT_STREAM + slot * SLOT_STREAMS;
}

/** Media comes in any order; all else in the order in which it was said. */
export function isOrdered(stream: number): boolean {
  const { kind } = roleOf(stream);
  return kind === 'control' || kind === 'urgent' || kind === 'data' || kind === 'still';
}
