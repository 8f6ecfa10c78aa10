/** What is said of channels. */

import { unstopped } from '../common/sentences';
import type { Channel } from '../protocol/channel';

/** What became of the channel that was asked for last. */
export type Reception =
  | { readonly state: 'idle' | 'tuning' | 'playing' }
  /** There is nothing to see, in words. */
  | { readonly state: 'off_air' | 'obstacle'; readonly text: string };

/** What was asked for. */
export interface Asked {
  /** The key of the channel. */
  readonly number: number | null;
  readonly channel: Channel | null;
  /** The channel, where it was taken from the list since. */
  readonly taken: Channel | null;
  /** Whether there are any channels. */
  readonly hasChannels: boolean;
}

export interface Obstacle {
  readonly text: string;
  /** A short wait is not worth words. */
  readonly isWait: boolean;
  /** Another player may show it. */
  readonly isUndecodable: boolean;
}

/** Why there is nothing to see, if that is so. */
export function obstacleWords(
  { number, channel, taken, hasChannels }: Asked,
  reception: Reception,
): Obstacle | null {
  if (channel === null && taken !== null) {
    return says(takenWords(taken, reception));
  }
  if (channel === null) {
    const none = number === null ? 'There is no such channel.' : `There is no channel ${number}.`;
    return says(hasChannels ? none : 'This server has no channels yet.');
  }
  const { name, on_air, playable } = channel;
  if (playable.is === 'no') {
    const why = unstopped(playable.text ?? 'its format is not one that browsers decode');
    return says(`${name} cannot be played in a browser: ${why}.`, { isUndecodable: true });
  }
  switch (reception.state) {
    case 'tuning':
      return says(on_air ? `${name} …` : `${name} is off air.`, { isWait: true });
    case 'off_air':
      return says(`${name} is off air: ${unstopped(reception.text)}. It goes on when it is back.`);
    case 'obstacle':
      return says(reception.text, { isUndecodable: true });
    case 'idle':
    case 'playing':
      return null;
  }
}

/** The server says why before it takes a channel from the list, or right after. */
function takenWords({ name }: Channel, reception: Reception): string {
  const why = reception.state === 'off_air' ? `: ${unstopped(reception.text)}` : '';
  return `${name} is not among your channels any more${why}.`;
}

/** Of a channel in the guide: what keeps it from being watched. */
export function obstacleOf({ on_air, playable }: Channel): string | null {
  if (playable.is === 'no') {
    return `Cannot be played: ${unstopped(playable.text ?? 'unknown format')}`;
  }
  return on_air ? null : 'Off air';
}

function says(
  text: string,
  { isWait = false, isUndecodable = false }: { isWait?: boolean; isUndecodable?: boolean } = {},
): Obstacle {
  return { text, isWait, isUndecodable };
}
