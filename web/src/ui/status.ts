/** The state of the whole, in a few words. */

import { obstacleWords } from '../channels/words';
import type { Hello } from '../protocol/program';
import type { Store } from '../state/store';

export interface Status {
  readonly severity: 'info' | 'good' | 'warning' | 'bad';
  readonly short: string;
  /** Said over the picture while there is none, or `null`. */
  readonly long: string | null;
  /** A short wait is not worth words: they show when it lasts. */
  readonly isWait?: boolean;
}

export function statusOf(store: Store, nowMs: number): Status {
  const connection = store.connection.value;
  switch (connection.state) {
    case 'connecting':
      return { severity: 'info', short: 'Connecting', long: 'Connecting to the program.' };
    case 'waiting': {
      const inS = secondsUntil(store.retryAtMs.value, nowMs);
      return {
        severity: 'bad',
        short: `Trying again in ${inS} s`,
        long: `The program does not answer. Is it still running? Trying again in ${inS} s.`,
      };
    }
    case 'ended':
      return { severity: 'info', short: 'Ended', long: connection.text };
    case 'open':
      return playing(store, nowMs);
  }
}

function playing(store: Store, nowMs: number): Status {
  const finished = store.finished.value;
  if (finished !== null) {
    return { severity: 'info', short: 'Ended', long: finished };
  }
  const wait = store.peerWait.value;
  if (wait !== null) {
    const inS = secondsUntil(wait.untilMs, nowMs);
    const when = inS > 0 ? `Trying again in ${inS} s.` : 'Trying now.';
    return {
      severity: 'warning',
      short: inS > 0 ? `Reconnecting in ${inS} s` : 'Reconnecting',
      long: `${wait.why} ${when}`,
    };
  }
  const hello = store.hello.value;
  if (hello === null) {
    return { severity: 'info', short: 'Connected', long: 'Waiting for the program.' };
  }
  const obstacle = hello.controls.channels ? obstacleOf(store) : null;
  if (obstacle !== null) {
    return obstacle;
  }
  if (hello.video === null) {
    return withoutPicture(hello);
  }
  return (store.screen.value?.layers ?? 0) === 0
    ? { severity: 'info', short: 'Waiting', long: 'Waiting for the first picture.' }
    : { severity: 'good', short: 'Playing', long: null };
}

/** What keeps the channel that was chosen from being seen. */
function obstacleOf(store: Store): Status | null {
  const channels = store.channels.value;
  if (channels === null || (channels.length > 0 && store.number.value === null)) {
    return { severity: 'info', short: 'Waiting', long: 'Waiting for the list of channels.' };
  }
  const obstacle = obstacleWords(store.asked.value, store.reception.value);
  if (obstacle === null) {
    return null;
  }
  const { text: long, isWait, isUndecodable } = obstacle;
  if (isWait) {
    return { severity: 'info', short: 'Waiting', long, isWait };
  }
  return { severity: 'warning', short: isUndecodable ? 'Not played' : 'Off air', long };
}

function withoutPicture({ audio, not_played }: Hello): Status {
  const unplayed = inWords(not_played);
  if (audio !== null) {
    return { severity: 'good', short: 'Playing', long: unplayed ?? 'This stream has sound only.' };
  }
  return unplayed === null
    ? { severity: 'info', short: 'Waiting', long: 'Waiting for the stream.' }
    : { severity: 'warning', short: 'Not played', long: unplayed };
}

/** What of a stream the page does not play, as a sentence; `null`: nothing. */
function inWords(codecs: readonly string[]): string | null {
  return codecs.length === 0
    ? null
    : `This stream has ${codecs.join(' and ')}, which the page does not play. ` +
        'It plays H.264, AV1, AAC, MP3 and Opus.';
}

function secondsUntil(atMs: number | null, nowMs: number): number {
  return atMs === null ? 0 : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}
