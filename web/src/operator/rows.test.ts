import { describe, expect, it } from 'vitest';
import type { Viewer } from './answers';
import { arranged, median, type Order, Rows, reordered } from './rows';

function viewer(id: number, changes: Partial<Viewer> = {}): Viewer {
  return {
    id: `viewer ${id}`,
    name: null,
    program: 'anabranch page',
    carrier: 'browser',
    since_ms: 1_000 * id,
    channel: 1,
    zaps: 0,
    skipped_units: 0,
    reduction: null,
    queued_bytes: 0,
    shown: 100,
    late: 0,
    lost: 0,
    zap_ms: null,
    paths: [path(0)],
    ...changes,
  };
}

function path(sent_bytes: number, changes: Partial<Viewer['paths'][number]> = {}) {
  const local = '192.0.2.1:9000';
  return {
    local,
    remote: '198.51.100.7:4000',
    rtt_ms: 20,
    sent_chunks: 0,
    lost_chunks: 0,
    sent_bytes,
    ...changes,
  };
}

describe('the rows of viewers', () => {
  it('have rates of the last seconds, from what all paths carried', () => {
    const rows = new Rows();
    expect(rows.update([viewer(1)], 0)[0]?.kbps).toBeNull();
    for (let second = 1; second <= 5; second++) {
      const paths = [path(250_000 * second), path(125_000 * second)];
      const [row] = rows.update([viewer(1, { paths })], 1_000 * second);
      expect(row?.kbps).toBeCloseTo(3_000);
    }
  });

  it('forget the counters of who left', () => {
    const rows = new Rows();
    rows.update([viewer(1, { paths: [path(9_000_000)] })], 0);
    rows.update([], 1_000);
    expect(rows.update([viewer(1)], 2_000)[0]?.kbps).toBeNull();
  });

  it('tell the round trip of the fastest path', () => {
    const paths = [path(0, { rtt_ms: 80 }), path(0), path(0, { rtt_ms: null })];
    const [row] = new Rows().update([viewer(1, { paths })], 0);
    expect(row?.roundTripMs).toBe(20);
    const [unknown] = new Rows().update([viewer(1, { paths: [] })], 0);
    expect(unknown).toMatchObject({ roundTripMs: null, lossPercent: null });
  });

  it('tell what is lost of late, on each path and on all, and forget what was lost before', () => {
    const rows = new Rows();
    const at = (second: number) => {
      // One in ten was lost in the first five seconds, and nothing since.
      const lost_chunks = 10 * Math.min(second, 5);
      const paths = [
        path(0, { sent_chunks: 100 * second, lost_chunks }),
        path(0, { remote: '203.0.113.9:1', sent_chunks: 100 * second }),
      ];
      const row = rows.update([viewer(1, { paths })], 1_000 * second)[0];
      return [row?.lossPercent, ...(row?.paths ?? []).map(({ lossPercent }) => lossPercent)];
    };
    const told = Array.from({ length: 21 }, (_, second) => at(second));
    expect(told[0]).toEqual([null, null, null]);
    expect(told[5]).toEqual([5, 10, 0]);
    expect(told[10]).toEqual([2.5, 5, 0]);
    expect(told[20]).toEqual([0, 0, 0]);
  });

  it('call a viewer by the name in its token, or else by its number', () => {
    const [named, other] = new Rows().update([viewer(1, { name: 'Lobby' }), viewer(2)], 0);
    expect([named?.who, other?.who]).toEqual(['Lobby', 'Viewer 2']);
  });

  it('come in the order that was asked for, what is unknown before all numbers', () => {
    const rows = new Rows().update(
      [viewer(10, { zaps: 3 }), viewer(9, { zaps: 7, channel: null }), viewer(2, { zaps: 3 })],
      0,
    );
    const ids = (order: Order) => arranged(rows, '', order).map(({ id }) => id);
    expect(ids({ column: 'who', descending: false })).toEqual([
      'viewer 2',
      'viewer 9',
      'viewer 10',
    ]);
    expect(ids({ column: 'zaps', descending: true })).toEqual([
      'viewer 9',
      'viewer 10',
      'viewer 2',
    ]);
    expect(ids({ column: 'channel', descending: false })[0]).toBe('viewer 9');
  });

  it('are found by name, program, address and channel', () => {
    const rows = new Rows().update([viewer(1, { name: 'Lobby', channel: 7 }), viewer(2)], 0);
    const order = { column: 'who', descending: false } as const;
    const found = (words: string) => arranged(rows, words, order).map(({ who }) => who);
    expect(found('lob 198.51')).toEqual(['Lobby']);
    expect(found('viewer')).toEqual(['Viewer 2']);
    expect(found('nobody')).toEqual([]);
  });
});

describe('the order', () => {
  it('begins with the largest figure, and with the first name', () => {
    const order = { column: 'who', descending: false } as const;
    expect(reordered(order, 'kbps')).toEqual({ column: 'kbps', descending: true });
    expect(reordered({ column: 'kbps', descending: true }, 'who')).toEqual(order);
    expect(reordered(order, 'who')).toEqual({ column: 'who', descending: true });
  });
});

describe('the median', () => {
  it('is one that there is', () => {
    expect(median([30, null, 10, 20, 40])).toBe(20);
    expect(median([null])).toBeNull();
  });
});
