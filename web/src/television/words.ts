/** What the page says of channels and of the connection. */

import { type Asked, obstacleWords, type Reception } from '../channels/words';
import type { ConnectionState } from '../rtc/connection';

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
  asked: Asked,
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
  const obstacle = obstacleWords(asked, reception);
  return obstacle === null
    ? null
    : says(obstacle.text, {
        isWait: obstacle.isWait,
        link: obstacle.isUndecodable && asked.channel !== null ? `/ch/${asked.number}.ts` : null,
      });
}

/** Behind live beyond the chosen delay by less is the delay, as far as a person can tell. */
const EXCESS_MS = 100;

/** How far behind live it is, where that is more than was chosen; null: it is not. */
export function excessWords(behindMs: number | null, chosenMs: number): string | null {
  if (behindMs === null || behindMs < chosenMs + EXCESS_MS) {
    return null;
  }
  return behindMs < 1_000
    ? `${Math.round(behindMs / 10) * 10} ms now`
    : `${(behindMs / 1_000).toFixed(1)} s now`;
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
