/** What the page of a room says of connection and members. */

import type { Device } from '../call/protocol/agent';
import type { Severity } from '../protocol/program';
import type { ConnectionState } from '../rtc/connection';
import type { Stage } from './state/store';

export interface Status {
  readonly short: string;
  /** What lies over the room, if anything. */
  readonly long: string | null;
  readonly severity: Severity;
}

/** What there is of the network. */
export interface Reach {
  /** Whether anything comes from the room. */
  readonly isHeard: boolean;
  /** Whether this machine has a network, as the browser says. */
  readonly isOnline: boolean;
}

export function roomStatus(
  stage: Stage,
  connection: ConnectionState,
  reach: Reach,
  nowMs: number,
): Status {
  if (stage.is === 'lobby') {
    return { short: 'Not in yet', long: null, severity: 'info' };
  }
  if (stage.is === 'out') {
    return { short: 'Out', long: stage.why, severity: 'info' };
  }
  if (connection.state === 'waiting') {
    const seconds = Math.max(0, Math.ceil((connection.untilMs - nowMs) / 1_000));
    const again = seconds === 0 ? 'Trying again …' : `Trying again in ${seconds} s.`;
    return { short: 'Connection lost', long: `${connection.why} ${again}`, severity: 'bad' };
  }
  if (connection.state === 'connecting') {
    const isBack = stage.is === 'in';
    const long = isBack ? 'Going over to another connection …' : 'Entering …';
    return { short: isBack ? 'Reconnecting' : 'Entering', long, severity: 'warning' };
  }
  return reachStatus(reach);
}

function reachStatus({ isHeard, isOnline }: Reach): Status {
  if (!isHeard && !isOnline) {
    const long = 'This machine has no network. You are back in the room as soon as it has one.';
    return { short: 'No network', long, severity: 'bad' };
  }
  if (!isHeard) {
    return { short: 'Nothing heard', long: null, severity: 'warning' };
  }
  return { short: 'In the room', long: null, severity: 'good' };
}

/** What stands in a tile without a picture. */
export function noPicture(camera: Device, isAway: boolean): string {
  if (isAway) {
    return 'Connection lost, may come back';
  }
  return camera === 'muted' ? 'Camera off' : camera === 'none' ? 'No camera' : 'Picture follows';
}

export function peopleWords(people: number): string {
  return people === 1 ? 'You are alone here.' : `${people} people`;
}
