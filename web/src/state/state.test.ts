import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeProgramMessage } from '../protocol/program';
import type { LiveMessage } from '../worker/messages';
import { CounterWindow } from './counter-window';
import { PATH_COLUMN } from './path-history';
import { Store } from './store';
import { Timeline } from './timeline';

describe('a counter window', () => {
  it('gives the rate over its span', () => {
    const window = new CounterWindow(1);
    for (const [atS, count] of [
      [0, 0],
      [0.5, 100],
      [1, 200],
      [1.5, 800],
    ] as const) {
      window.push(atS, [count]);
    }
    expect(window.growth(0)).toBe(700);
    expect(window.perSecond(0)).toBe(700);
  });

  it('knows nothing from one reading, nor of a counter that is unknown', () => {
    const window = new CounterWindow(1);
    window.push(0, [5, null]);
    expect(window.perSecond(0)).toBeNull();
    window.push(1, [6, null]);
    expect(window.perSecond(1)).toBeNull();
  });

  it('takes no rate from a counter that went down', () => {
    const window = new CounterWindow(1);
    window.push(0, [10]);
    window.push(1, [3]);
    expect(window.perSecond(0)).toBe(0);
  });
});

describe('a timeline', () => {
  it('keeps a little more than half a minute', () => {
    const timeline = new Timeline(1);
    for (let atS = 0; atS <= 100; atS++) {
      timeline.push(atS, [atS]);
    }
    expect(timeline.times[0]).toBe(68);
    expect(timeline.columns[0]?.[0]).toBe(68);
    expect(timeline.times).toHaveLength(33);
  });
});

describe('the store', () => {
  it('derives rates and losses of a path from two readings', () => {
    const store = started();
    store.onMessage(stats(1, 0, 0, 0), 0);
    expect(store.paths.value[0]?.sentKbps).toBeNull();
    store.onMessage(stats(2, 125_000, 200, 10), 0);
    expect(store.paths.value[0]).toMatchObject({ sentKbps: 1000, lossPercent: 5 });
    expect(store.pathHistory(1).timeline.columns[PATH_COLUMN.sentKbps]?.at(-1)).toBe(1000);
  });

  it('adds up what was abandoned in all layers', () => {
    const store = started();
    store.onMessage(fixture('stats'), 0);
    expect(store.abandoned.value).toBe(3);
  });

  it('takes an event once', () => {
    const store = started();
    store.onMessage(fixture('event'), 0);
    store.onMessage(fixture('event'), 0);
    expect(store.events.value).toHaveLength(1);
  });

  it('marks an event on the graphs of its path only', () => {
    const store = started();
    store.onMessage(fixture('event'), 0);
    expect(store.marks(1)).toHaveLength(1);
    expect(store.marks(2)).toHaveLength(0);
    expect(store.marks(null)).toHaveLength(1);
  });

  it('keeps the 200 newest events', () => {
    const store = started();
    for (let id = 1; id <= 250; id++) {
      const message = fixture('event');
      store.onMessage({ ...message, body: { ...message.body, id } } as LiveMessage, 0);
    }
    expect(store.events.value).toHaveLength(200);
    expect(store.events.value[0]?.id).toBe(51);
  });

  it('starts anew with another hello', () => {
    const store = started();
    store.onMessage(fixture('stats'), 0);
    store.onMessage(fixture('event'), 0);
    store.onMessage(fixture('hello'), 0);
    expect(store.stats.value).toBeNull();
    expect(store.events.value).toEqual([]);
    expect(store.pathHistory(1).timeline.times).toEqual([]);
  });

  it('keeps channels and urgent messages for another hello, not for another socket', () => {
    const store = started();
    for (const type of ['channels', 'tuned', 'urgent', 'hello'] as const) {
      store.onMessage(fixture(type), 0);
    }
    expect(store.channels.value?.map(({ number }) => number)).toEqual([1, 20]);
    expect(store.channel.value?.name).toBe('Sport');
    expect(store.reception.value).toEqual({ state: 'off_air', text: 'Its source ended.' });
    expect(store.urgent.value).toHaveLength(1);
    store.onMessage(fixture('over'), 0);
    expect(store.urgent.value).toEqual([]);
    store.onConnection({ state: 'connecting' }, 0);
    expect([store.channels.value, store.number.value]).toEqual([null, null]);
  });

  it('remembers the channel before this one', () => {
    const store = started();
    for (const number of [1, 20, 20, 1]) {
      store.onMessage({ type: 'tuned', body: { number, state: 'asked', text: null } }, 0);
    }
    expect(store.before).toBe(20);
  });

  it('counts down to the next attempt at the peer until it is back', () => {
    const store = started();
    store.onMessage(fixture('reconnecting'), 1_000);
    expect(store.peerWait.value?.untilMs).toBe(4_500);
    const event = fixture('event');
    store.onMessage(
      { ...event, body: { ...event.body, kind: 'peer_connected' } } as LiveMessage,
      0,
    );
    expect(store.peerWait.value).toBeNull();
  });

  it('shows a refusal once and keeps three notices', () => {
    const store = started();
    store.onMessage(fixture('error'), 0);
    store.onMessage(fixture('error'), 0);
    expect(store.notices.value).toHaveLength(1);
    for (const text of ['a', 'b', 'c']) {
      store.notify('bad', text);
    }
    expect(store.notices.value.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  });
});

function started(): Store {
  const store = new Store();
  store.onMessage(fixture('hello'), 0);
  return store;
}

function fixture(name: string): LiveMessage {
  const json = readFileSync(new URL(`../../fixtures/${name}.json`, import.meta.url), 'utf8');
  const message = decodeProgramMessage(json);
  if (message === null || message.type === 'ended') {
    throw new Error(`${name} is unknown`);
  }
  return message;
}

function stats(atS: number, sentBytes: number, packets: number, lost: number): LiveMessage {
  const message = fixture('stats');
  if (message.type !== 'stats') {
    throw new Error('no statistics');
  }
  const [path] = message.body.paths;
  if (path === undefined) {
    throw new Error('no path');
  }
  const changed = {
    ...path,
    sent_bytes: sentBytes,
    sent_packets: packets,
    lost_packets: lost,
  };
  return { type: 'stats', body: { ...message.body, now_us: atS * 1e6, paths: [changed] } };
}
