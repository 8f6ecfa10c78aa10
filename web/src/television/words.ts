/** What the page says of channels and of the connection. */

import type { ConnectionState } from './connection';
import type { Channel } from './protocol/control';
import type { Reception } from './state/store';

export interface Banner {
  readonly text: string;
  /** A short wait is not worth words. */
  readonly isWait: boolean;
  /** What a player beside the browser can open. */
  readonly link: string | null;
}

/** What lies over the picture, if anything. */
export function bannerOf(
  connection: ConnectionState,
  channel: Channel | null,
  hasChannels: boolean,
  reception: Reception,
  nowMs: number,
): Banner | null {
  switch (connection.state) {
    case 'connecting':
      return says('Connecting …', { isWait: true });
    case 'waiting':
      return says(`${connection.why} ${retryWords(connection.untilMs - nowMs)}`);
    case 'open':
  }
  if (channel === null) {
    return says(hasChannels ? 'There is no such channel.' : 'This server has no channels yet.');
  }
  if (channel.playable.is === 'no') {
    const why = channel.playable.text ?? 'its format is not one that browsers decode';
    return says(`${channel.name} cannot be played in a browser: ${unstopped(why)}.`, {
      link: `/ch/${channel.number}.ts`,
    });
  }
  return receptionBanner(channel, reception);
}

function receptionBanner(channel: Channel, reception: Reception): Banner | null {
  switch (reception.state) {
    case 'tuning':
      return channel.on_air
        ? says(`${channel.name} …`, { isWait: true })
        : says(`${channel.name} is off air.`, { isWait: true });
    case 'off_air':
      return says(
        `${channel.name} is off air: ${unstopped(reception.text)}. It goes on when it is back.`,
      );
    case 'obstacle':
      return says(reception.text, { link: `/ch/${channel.number}.ts` });
    case 'idle':
    case 'playing':
      return null;
  }
}

/** Of a channel in the guide: what keeps it from being watched. */
export function obstacleOf({ on_air, playable }: Channel): string | null {
  if (playable.is === 'no') {
    return `Cannot be played: ${unstopped(playable.text ?? 'unknown format')}`;
  }
  return on_air ? null : 'Off air';
}

/** The state of the connection in a word or two. */
export function connectionWord({ state }: ConnectionState): string {
  switch (state) {
    case 'connecting':
      return 'Connecting';
    case 'open':
      return 'Live';
    case 'waiting':
      return 'No connection';
  }
}

/** Channels whose number, name, group or programme has all the words. */
export function matching(channels: readonly Channel[], search: string): readonly Channel[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return channels.filter(({ number, name, group, programme }) => {
    const text = [number, name, group, programme.now, programme.next].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function retryWords(inMs: number): string {
  const seconds = Math.ceil(inMs / 1000);
  return seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again …';
}

function says(
  text: string,
  { isWait = false, link = null }: { isWait?: boolean; link?: string | null } = {},
): Banner {
  return { text, isWait, link };
}

/** Words of the server, as a whole sentence. */
export function sentence(text: string): string {
  const words = unstopped(text.trim());
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function unstopped(text: string): string {
  return text.replace(/\.$/, '');
}
