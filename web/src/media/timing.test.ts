import { describe, expect, it } from 'vitest';
import { Cushion } from './cushion';
import { CODED_MAX, DECODE_AHEAD_MS, DecodeQueue } from './decode-queue';
import { DisplayQueue, WAITING_MAX } from './display-queue';
import { GapMeter } from './gap-meter';
import { PlayoutClock } from './playout-clock';

describe('the clock of another machine', () => {
  it('is known best from the message that took the least time', () => {
    const clock = new PlayoutClock(Number.POSITIVE_INFINITY);
    clock.sample(5_030_000, 1_000_000);
    clock.sample(5_205_000, 1_200_000);
    clock.sample(5_460_000, 1_400_000);
    expect(clock.offsetUs).toBe(4_005_000);
  });

  it('forgets after 10 s, so that a drift is followed', () => {
    const clock = new PlayoutClock(Number.POSITIVE_INFINITY);
    clock.sample(1_000_000, 0);
    clock.sample(12_004_000, 11_000_000);
    expect(clock.offsetUs).toBe(1_004_000);
  });
});

describe('the cushion', () => {
  it('grows at once with a late picture and shrinks slowly', () => {
    const cushion = new Cushion();
    cushion.observe(5, 0);
    expect(cushion.ms).toBe(20);
    cushion.observe(60, 1_000);
    expect(cushion.ms).toBe(68);
    cushion.observe(5, 2_000);
    expect(cushion.ms).toBe(64);
    cushion.observe(5, 60_000);
    expect(cushion.ms).toBe(20);
  });

  it('has a bound', () => {
    const cushion = new Cushion();
    cushion.observe(10_000, 0);
    expect(cushion.ms).toBe(150);
  });
});

describe('the display queue', () => {
  it('gives the newest due picture and drops those before it', () => {
    const closed: number[] = [];
    const queue = new DisplayQueue();
    for (const dueMs of [10, 30, 20, 40]) {
      queue.push({ dueMs, close: () => closed.push(dueMs) }, 0);
    }
    expect(queue.takeDue(9)).toBeNull();
    expect(queue.takeDue(30)?.dueMs).toBe(30);
    expect(closed).toEqual([10, 20]);
    expect(queue.dropped).toBe(2);
    expect(queue.takeDue(39)).toBeNull();
    expect(queue.takeDue(40)?.dueMs).toBe(40);
  });

  it('closes the oldest picture when it is full, as on a hidden page', () => {
    const closed: number[] = [];
    const queue = new DisplayQueue();
    for (let dueMs = 0; dueMs <= WAITING_MAX; dueMs++) {
      queue.push({ dueMs, close: () => closed.push(dueMs) }, WAITING_MAX);
    }
    expect(closed).toEqual([0]);
  });

  it('shows something also while more comes ahead of its time than may wait', () => {
    const queue = new DisplayQueue();
    let shown = 0;
    for (let now = 0; now < 2_000; now += 8) {
      queue.push({ dueMs: now + 600, close: () => undefined }, now);
      shown += queue.takeDue(now) === null ? 0 : 1;
    }
    expect(shown).toBeGreaterThan(WAITING_MAX);
  });

  it('closes all when cleared', () => {
    let closed = 0;
    const queue = new DisplayQueue();
    queue.push({ dueMs: 1, close: () => closed++ }, 0);
    queue.push({ dueMs: 2, close: () => closed++ }, 0);
    queue.clear();
    expect(closed).toBe(2);
    expect(queue.takeDue(10)).toBeNull();
  });
});

describe('the decode queue', () => {
  it('keeps pictures until shortly before their time', () => {
    const queue = new DecodeQueue<string>();
    queue.push('one', 1_000);
    queue.push('two', 1_040);
    expect(queue.take(999 - DECODE_AHEAD_MS)).toEqual([]);
    expect(queue.take(1_000 - DECODE_AHEAD_MS)).toEqual(['one']);
    expect(queue.take(2_000)).toEqual(['two']);
  });

  it('decodes what others are predicted from before them', () => {
    const queue = new DecodeQueue<string>();
    queue.push('P4', 1_160);
    queue.push('B2', 1_080);
    queue.push('b1', 1_040);
    queue.push('b3', 1_120);
    expect(queue.take(1_040 - DECODE_AHEAD_MS)).toEqual(['P4', 'B2', 'b1']);
    queue.clear();
    expect(queue.take(9_000)).toEqual([]);
  });

  it('has a bound', () => {
    const queue = new DecodeQueue<number>();
    for (let picture = 0; picture <= CODED_MAX; picture++) {
      queue.push(picture, 1_000_000);
    }
    expect(queue.take(0)).toEqual([0]);
  });
});

describe('the gap meter', () => {
  it('knows nothing before the first picture', () => {
    expect(new GapMeter().longestMs(5_000)).toBeNull();
  });

  it('reports the longest gap of the last 10 s', () => {
    const meter = new GapMeter();
    for (const atMs of [0, 40, 340, 380, 420]) {
      meter.shown(atMs);
    }
    expect(meter.longestMs(430)).toBe(300);
    meter.shown(10_300);
    meter.shown(10_345);
    expect(meter.longestMs(20_310)).toBe(9_965);
  });

  it('counts a gap that still lasts', () => {
    const meter = new GapMeter();
    meter.shown(0);
    meter.shown(40);
    expect(meter.longestMs(2_040)).toBe(2_000);
  });
});
