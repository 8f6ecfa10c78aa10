/** What is said of channels. */

import type { Channel } from '../protocol/channel';

/** What became of the channel that was asked for last. */
export type Reception =
  | { readonly state: 'idle' | 'tuning' | 'playing' }
  /** There is nothing to see, in words. */
  | { readonly state: 'off_air' | 'obstacle'; readonly text: string };

export interface Obstacle {
  readonly text: string;
  /** A short wait is not worth words. */
  readonly isWait: boolean;
  /** Another player may show it. */
  readonly isUndecodable: boolean;
}

/** Why there is nothing to see, if that is so. */
export function obstacleWords(
  channel: Channel | null,
  taken: Channel | null,
  hasChannels: boolean,
  reception: Reception,
): Obstacle | null {
  if (channel === null && taken !== null) {
    return says(takenWords(taken, reception));
  }
  if (channel === null) {
    return says(hasChannels ? 'There is no such channel.' : 'This server has no channels yet.');
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

/** Channels whose number, name, group or programme has all the words. */
export function matching(channels: readonly Channel[], search: string): readonly Channel[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return channels.filter(({ number, name, group, programme }) => {
    const text = [number, name, group, programme.now, programme.next].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Words that go on in a sentence of ours. */
export function unstopped(text: string): string {
  return text.replace(/\.$/, '');
}

function says(
  text: string,
  { isWait = false, isUndecodable = false }: { isWait?: boolean; isUndecodable?: boolean } = {},
): Obstacle {
  return { text, isWait, isUndecodable };
}
