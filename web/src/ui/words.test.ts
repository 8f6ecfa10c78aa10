import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleChannel as channel } from '../channels/example';
import type { Hello } from '../protocol/program';
import { Store } from '../state/store';
import * as format from './format';
import { shortcutsFor } from './shortcuts';
import { statusOf } from './status';
import { logarithmicStops, nearestStop, squaredStops } from './stops';

describe('a number', () => {
  it.each([
    [0, '0 kbit/s'],
    [999.4, '999 kbit/s'],
    [999.5, '1.00 Mbit/s'],
    [9_994, '9.99 Mbit/s'],
    [9_996, '10.0 Mbit/s'],
    [99_960, '100 Mbit/s'],
  ])('%d kbit/s keeps three digits: %s', (kbps, words) => {
    expect(format.words(format.rate(kbps))).toBe(words);
  });

  it.each([
    [format.milliseconds(9.96), '10.0 ms'],
    [format.milliseconds(99.96), '100 ms'],
    [format.signedMilliseconds(-3.21), '−3.2 ms'],
    [format.signedMilliseconds(3.21), '+3.2 ms'],
    [format.bytes(48_000), '48.0 kB'],
    [format.bytes(1_500_000), '1.50 MB'],
    [format.percent(0.54), '0.5 %'],
    [format.percent(12.4), '12 %'],
    [format.percent(null), '– '],
  ])('%j is %s', (quantity, words) => {
    expect(format.words(quantity)).toBe(words);
  });

  it('has thin spaces between its thousands', () => {
    expect(format.whole(1_234_567)).toBe('1\u2009234\u2009567');
    expect(format.whole(999)).toBe('999');
    expect(format.whole(null)).toBe('–');
  });

  it.each([
    [0, '0'],
    [200_000, '200 kB'],
    [4_000_000, '4 MB'],
  ])('of %d bytes is short at the side of a graph: %s', (count, words) => {
    expect(format.axisBytes(count)).toBe(words);
  });

  it('is a time with minutes', () => {
    expect(format.clock(0.9)).toBe('0:00');
    expect(format.clock(61)).toBe('1:01');
    expect(format.clock(-5)).toBe('0:00');
  });
});

describe('the stops of a slider', () => {
  const rates = logarithmicStops([100, 100_000]);
  const losses = squaredStops([0, 50], 0.1);

  it('begin and end with the range and grow', () => {
    for (const stops of [rates, losses]) {
      expect(stops.every((stop, index) => index === 0 || stop > (stops[index - 1] ?? 0))).toBe(
        true,
      );
    }
    expect([rates[0], rates.at(-1)]).toEqual([100, 100_000]);
    expect([losses[0], losses.at(-1)]).toEqual([0, 50]);
  });

  it('have at most two digits that count, in whole steps', () => {
    expect(losses.slice(0, 4)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(rates.every((rate) => Number(rate.toPrecision(2)) === rate)).toBe(true);
  });

  it('show the nearest one for a value between two or outside', () => {
    expect(losses[nearestStop(losses, 0.12)]).toBe(0.1);
    expect(nearestStop(losses, 0)).toBe(0);
    expect(nearestStop(losses, 99)).toBe(losses.length - 1);
    expect(nearestStop(rates, 1)).toBe(0);
  });
});

describe('the help', () => {
  it('tells of the keys that mean something here', () => {
    const { controls } = hello();
    const keys = (has: Partial<Hello['controls']>) =>
      shortcutsFor({ ...controls, links: null, ...has }).map(([key]) => key);
    expect(keys({ links: controls.links })).toEqual(['1 … 9', 'M', 'S', 'F', 'T', '?']);
    expect(keys({})).toEqual(['M', 'S', 'F', 'T', '?']);
    expect(keys({ channels: true }).slice(0, 3)).toEqual(['0 … 9', '↑ ↓', '⌫']);
  });
});

describe('the status', () => {
  it('counts down to the next attempt', () => {
    const store = new Store();
    store.onConnection({ state: 'waiting', retryInMs: 4_000 }, 10_000);
    expect(statusOf(store, 10_100).short).toBe('Trying again in 4 s');
    expect(statusOf(store, 13_500).short).toBe('Trying again in 1 s');
    expect(statusOf(store, 14_500).short).toBe('Trying again in 0 s');
  });

  it("gives the program's last words when the stream has ended", () => {
    const store = new Store();
    store.onConnection({ state: 'ended', text: 'The sender ended the stream.' }, 0);
    expect(statusOf(store, 0).long).toBe('The sender ended the stream.');
  });

  it('says what is over until it begins again', () => {
    const store = new Store();
    store.onConnection({ state: 'open' }, 0);
    store.onMessage({ type: 'finished', body: { text: 'The demo has ended.' } }, 0);
    expect(statusOf(store, 0)).toMatchObject({ short: 'Ended', long: 'The demo has ended.' });
    store.onMessage({ type: 'hello', body: hello() }, 0);
    expect(statusOf(store, 0).long).not.toBe('The demo has ended.');
  });

  it('tells why the peer is being waited for', () => {
    const store = new Store();
    store.onConnection({ state: 'open' }, 0);
    const body = { in_s: 3, why: 'The sender has not answered for 5 s.' };
    store.onMessage({ type: 'reconnecting', body }, 0);
    expect(statusOf(store, 500).long).toBe(
      'The sender has not answered for 5 s. Trying again in 3 s.',
    );
    expect(statusOf(store, 5_000).long).toBe('The sender has not answered for 5 s. Trying now.');
  });

  it('says what keeps the channel that was chosen from being seen', () => {
    const store = watching();
    expect(statusOf(store, 0).long).toBe('Waiting for the list of channels.');
    const channels = [
      channel(),
      channel({ number: 4, playable: { is: 'no', text: 'It is HEVC.' } }),
    ];
    store.onMessage({ type: 'channels', body: { channels } }, 0);
    expect(statusOf(store, 0).short).toBe('Waiting');
    store.onMessage({ type: 'tuned', body: { number: 3, state: 'asked', text: null } }, 0);
    expect(statusOf(store, 0)).toMatchObject({ long: 'News …', isWait: true });
    const text = 'Its source ended.';
    store.onMessage({ type: 'tuned', body: { number: 3, state: 'off_air', text } }, 0);
    expect(statusOf(store, 0)).toMatchObject({
      short: 'Off air',
      long: 'News is off air: Its source ended. It goes on when it is back.',
    });
    store.onMessage({ type: 'tuned', body: { number: 4, state: 'asked', text: null } }, 0);
    expect(statusOf(store, 0).long).toBe('News cannot be played in a browser: It is HEVC.');
    store.onMessage({ type: 'tuned', body: { number: 3, state: 'on_air', text: null } }, 0);
    expect(statusOf(store, 0).long).toBe('Waiting for the first picture.');
  });

  it('of a server without channels says so', () => {
    const store = watching();
    store.onMessage({ type: 'channels', body: { channels: [] } }, 0);
    expect(statusOf(store, 0).long).toBe('This server has no channels yet.');
  });

  it('names what the page does not play', () => {
    const store = new Store();
    store.onConnection({ state: 'open' }, 0);
    const body = { ...hello(), video: null, not_played: ['MPEG-2 video', 'AC-3'] };
    store.onMessage({ type: 'hello', body: { ...body, audio: null } }, 0);
    const silent = statusOf(store, 0);
    expect(silent.short).toBe('Not played');
    expect(silent.long).toBe(
      'This stream has MPEG-2 video and AC-3, which the page does not play. ' +
        'It plays H.264, AV1, AAC, MP3 and Opus.',
    );
    store.onMessage({ type: 'hello', body: { ...body, not_played: ['H.265'] } }, 0);
    expect(statusOf(store, 0).short).toBe('Playing');
    expect(statusOf(store, 0).long).toContain('This stream has H.265');
  });
});

/** What a page knows that `anabranch watch` has greeted. */
function watching(): Store {
  const store = new Store();
  store.onConnection({ state: 'open' }, 0);
  const { controls, ...others } = hello();
  const body = { ...others, controls: { ...controls, links: null, channels: true } };
  store.onMessage({ type: 'hello', body }, 0);
  return store;
}

function hello(): Hello {
  return JSON.parse(readFileSync(new URL('../../fixtures/hello.json', import.meta.url), 'utf8'));
}
