/** What the operator's page says of channels and times. */

import type { Severity } from '../protocol/program';
import type { Channel } from './answers';

export interface ChannelState {
  readonly severity: Severity;
  readonly word: string;
  /** What keeps it from being watched. */
  readonly why: string | null;
}

export function stateOf({ on_air, playable, obstacle }: Channel): ChannelState {
  if (!on_air) {
    return { severity: 'bad', word: 'Off air', why: obstacle };
  }
  return playable.is === 'no'
    ? { severity: 'warning', word: 'Players only', why: obstacle }
    : { severity: 'good', word: 'On air', why: null };
}

/** As much of it as one wants to read. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes === 0) {
    return `${seconds} s`;
  }
  if (hours === 0) {
    return `${minutes} min`;
  }
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
