import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { deviceWords } from './capture/words';
import { decodeAgentMessage } from './protocol/agent';
import { CallStore } from './state/store';
import { callStatus, carriesWords, handoffWords } from './words';

const NOW_MS = 50_000;

describe('the state of a call in words', () => {
  it.each([
    ['waiting', 'Waiting', 'Waiting for a call on port 9000.'],
    ['calling', 'Calling', 'Calling 192.0.2.5:9000.'],
    ['in-call', 'In a call', 'Waiting for the first picture.'],
    ['no-path', 'No network', 'Nothing heard for 3 s; the call ends in 27 s'],
    ['ended', 'Ended', 'Bob hung up.'],
  ])('%s', (state, short, long) => {
    const status = callStatus(storeIn(state), NOW_MS);
    expect(status.short).toBe(short);
    expect(status.long).toContain(long);
  });

  it('says nothing over a picture that is seen', () => {
    const store = storeIn('in-call');
    store.screen.value = { shown: 1 } as never;
    expect(callStatus(store, NOW_MS).long).toBeNull();
  });

  it('says what to do when the program is gone', () => {
    const store = storeIn('in-call');
    store.onConnection({ state: 'waiting', retryInMs: 4_000 }, NOW_MS);
    expect(callStatus(store, NOW_MS + 1_500).long).toMatch(/start it again.*Trying again in 3 s/);
  });

  it('says why the call ended when the program is gone without its last words', () => {
    const store = storeIn('ended');
    store.onConnection({ state: 'waiting', retryInMs: 4_000 }, NOW_MS);
    expect(callStatus(store, NOW_MS).long).toMatch(/^Bob hung up\. The program on this machine/);
  });

  it('says where the call is, and why it ended', () => {
    const store = storeIn('taken');
    expect(callStatus(store, NOW_MS).long).toContain('Close that one to have the call here.');
    const ended = storeIn('ended');
    ended.onConnection({ state: 'ended', text: 'The program has ended.' }, NOW_MS);
    expect(callStatus(ended, NOW_MS).long).toBe('Bob hung up. The program has ended.');
  });

  it('counts the time of a call from its beginning, over a time without network', () => {
    const store = storeIn('in-call');
    // The call began at 5 s of a clock that told 1 s when ours told 50.
    expect(store.beganMs.value).toBe(NOW_MS + 4_000);
    say(store, 'state-no-path');
    expect(store.beganMs.value).toBe(NOW_MS + 4_000);
    say(store, 'state-ended');
    expect(store.beganMs.value).toBeNull();
  });
});

describe('words', () => {
  it('say what a handoff cost, and what a path carries', () => {
    expect(handoffWords(null)).toBeNull();
    expect(handoffWords(0)).toContain('cost nothing');
    expect(handoffWords(62.6)).toContain('cost 63 ms of voice');
    expect(carriesWords([])).toBe('nothing');
    expect(carriesWords(['voice', 'video'])).toBe('voice and video');
  });

  it.each([
    ['NotAllowedError', 'Allow it for this page'],
    ['NotFoundError', 'Plug one in'],
    ['NotReadableError', 'another program may have it'],
    ['Unplugged', 'Plug it in again or choose another one'],
    ['Insecure', 'Open it by https'],
    ['Strange', 'could not be opened (Strange)'],
  ])('say what to do about %s', (error, words) => {
    expect(deviceWords('camera', error)).toContain(words);
  });
});

function storeIn(state: string): CallStore {
  const store = new CallStore();
  store.onConnection({ state: 'open' }, NOW_MS);
  say(store, 'hello');
  say(store, state === 'taken' ? state : `state-${state}`);
  return store;
}

function say(store: CallStore, fixture: string): void {
  const url = new URL(`../../fixtures/call-${fixture}.json`, import.meta.url);
  const message = decodeAgentMessage(readFileSync(url, 'utf8'));
  if (message !== null) {
    store.onMessage(message, NOW_MS);
  }
}
