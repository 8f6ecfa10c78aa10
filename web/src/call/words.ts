/** The state of a call, in words. */

import type { Severity } from '../protocol/program';
import type { Device } from './protocol/agent';
import type { CallStore } from './state/store';

export interface CallStatus {
  readonly severity: Severity;
  readonly short: string;
  /** Said over the picture, or `null`. */
  readonly long: string | null;
}

export function callStatus(store: CallStore, nowMs: number): CallStatus {
  const taken = store.taken.value;
  if (taken !== null) {
    return {
      severity: 'warning',
      short: 'Open elsewhere',
      long: `${taken} Close that one to have the call here.`,
    };
  }
  const connection = store.connection.value;
  switch (connection.state) {
    case 'connecting':
      return { severity: 'info', short: 'Connecting', long: 'Connecting to the program.' };
    case 'waiting': {
      const inS = Math.max(0, Math.ceil(((store.retryAtMs.value ?? nowMs) - nowMs) / 1000));
      return {
        severity: 'bad',
        short: 'Program gone',
        long: lastWords(
          store,
          'The program on this machine does not answer. If it has ended, start it again and ' +
            `open the page that it prints. Trying again in ${inS} s.`,
        ),
      };
    }
    case 'ended':
      return { severity: 'info', short: 'Ended', long: lastWords(store, connection.text) };
    case 'open':
      return live(store);
  }
}

/** Why the call ended says more than that the program has. */
function lastWords(store: CallStore, text: string): string {
  const state = store.state.value;
  return state?.state === 'ended' ? `${state.text} ${text}` : text;
}

function live(store: CallStore): CallStatus {
  const state = store.state.value;
  switch (state?.state) {
    case undefined:
      return { severity: 'info', short: 'Connected', long: 'Waiting for the program.' };
    case 'waiting':
      return { severity: 'info', short: 'Waiting', long: state.text };
    case 'calling':
      return { severity: 'info', short: 'Calling', long: state.text };
    case 'in_call':
      return { severity: 'good', short: 'In a call', long: absence(store) };
    case 'no_path':
      return { severity: 'bad', short: 'No network', long: state.text };
    case 'ended':
      return { severity: 'info', short: 'Ended', long: state.text };
  }
}

/** Why nothing of the other end is seen. */
function absence(store: CallStore): string | null {
  const peer = store.state.value?.peer;
  const name = peerName(store);
  switch (peer?.media.camera) {
    case 'muted':
      return `${name} switched the camera off.`;
    case 'none':
      return `${name} has no camera.`;
    default:
      return (store.screen.value?.shown ?? 0) === 0 ? 'Waiting for the first picture.' : null;
  }
}

export function peerName(store: CallStore): string {
  return store.state.value?.peer?.name ?? 'The other end';
}

/** What of the other end's microphone is worth saying. */
export function microphoneWords(microphone: Device | undefined): string | null {
  switch (microphone) {
    case 'muted':
      return 'muted';
    case 'none':
      return 'no microphone';
    default:
      return null;
  }
}

/** What the last change away from a path cost. */
export function handoffWords(handoffMs: number | null): string | null {
  if (handoffMs === null) {
    return null;
  }
  return handoffMs === 0
    ? 'The last change away from it cost nothing.'
    : `The last change away from it cost ${Math.round(handoffMs)} ms of voice.`;
}

/** What runs over a path. */
export function carriesWords(carries: readonly ('voice' | 'video')[]): string {
  return carries.length === 0 ? 'nothing' : carries.join(' and ');
}
