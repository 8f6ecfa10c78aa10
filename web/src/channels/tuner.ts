/** What a guide and a remote control steer, whoever brings the channels. */

import type { ReadonlySignal } from '@preact/signals';
import type { Channel } from '../protocol/channel';

export interface Tuner {
  readonly store: {
    /** In the order of their numbers; null before the list came. */
    readonly channels: ReadonlySignal<readonly Channel[] | null>;
    /** The number of the channel that is watched. */
    readonly number: ReadonlySignal<number | null>;
  };
  /** Null where the guide has no pictures. */
  readonly stills: Stills | null;
  watch(number: number, pressedMs: number): void;
}

/** Small pictures of the channels. */
export interface Stills {
  readonly thumbnails: ReadonlySignal<ReadonlyMap<number, ImageBitmap>>;
  /** The card of a channel came into view, or went. */
  setVisible(channel: number, isVisible: boolean): void;
}

/** In the order of the keys; groups stay together. */
export function byNumber(channels: readonly Channel[]): readonly Channel[] {
  return [...channels].sort((one, other) => one.number - other.number);
}

/** The number so many keys further, round and round; null where there are no channels. */
export function stepped({ store }: Tuner, by: number): number | null {
  const channels = store.channels.peek() ?? [];
  const at = channels.findIndex(({ number }) => number === store.number.peek());
  return channels[(at + by + channels.length) % channels.length]?.number ?? null;
}
