import { describe, expect, it } from 'vitest';
import { UplinkRate } from './uplink-rate';

const TICK_MS = 100;

/** Follows for so many tenths of a second; `queued` says what waits at each. */
function follow(rate: UplinkRate, ticks: number, queued: (bps: number) => number, fromMs = 0) {
  for (let tick = 1; tick <= ticks; tick++) {
    rate.follow(fromMs + tick * TICK_MS, queued(rate.bps));
  }
}

function room(bps: number): UplinkRate {
  const rate = new UplinkRate();
  rate.roomBps = bps;
  return rate;
}

describe('the rate of what a member sends', () => {
  it('is nothing while nobody sees it, and at most what the others take', () => {
    expect(new UplinkRate().bps).toBe(0);
    const rate = room(400_000);
    follow(rate, 100, () => 0);
    expect(rate.bps).toBe(400_000);
    rate.roomBps = 0;
    expect(rate.bps).toBe(0);
  });

  it('grows while nothing waits, and no further than is of use', () => {
    const rate = room(10_000_000);
    const first = rate.bps;
    follow(rate, 10, () => 0);
    expect(rate.bps).toBeGreaterThan(1.3 * first);
    follow(rate, 300, () => 0, 1_000);
    expect(rate.bps).toBe(2_500_000);
  });

  it('falls within half a second to what a narrow network carries, and stays near it', () => {
    const rate = room(2_000_000);
    follow(rate, 100, () => 0);
    expect(rate.bps).toBeGreaterThan(1_900_000);
    // 300 kbit/s: what is sent beyond that waits.
    let queued = 0;
    const narrow = (bps: number) => {
      queued = Math.max(0, queued + ((bps - 300_000) / 8) * (TICK_MS / 1_000));
      return queued;
    };
    follow(rate, 15, narrow, 10_000);
    expect(rate.bps).toBeLessThan(300_000);
    let sum = 0;
    for (let second = 0; second < 30; second++) {
      follow(rate, 10, narrow, 11_500 + second * 1_000);
      sum += rate.bps;
    }
    expect(sum / 30).toBeGreaterThan(150_000);
    expect(sum / 30).toBeLessThan(400_000);
  });

  it('knows how long a picture waits', () => {
    const rate = room(400_000);
    expect(rate.waitMs(0)).toBe(0);
    expect(rate.waitMs(5_000)).toBeCloseTo(100);
  });
});
