import { describe, expect, it } from 'vitest';
import { LevelMeter } from './meter';

describe('the level meter', () => {
  it('is empty in silence, full at the limit, and half full 30 dB below it', () => {
    const levels = [0, 1, 10 ** (-30 / 20)].map((peak) => {
      const meter = new LevelMeter();
      meter.take(Float32Array.of(0, -peak, 0));
      return meter.level();
    });
    expect(levels[0]).toBe(0);
    expect(levels[1]).toBe(1);
    expect(levels[2]).toBeCloseTo(0.5);
  });

  it('rises at once and falls slowly', () => {
    const meter = new LevelMeter();
    meter.take(Float32Array.of(1));
    expect([meter.level(), meter.level(), meter.level()].map((level) => level.toFixed(2))).toEqual([
      '1.00',
      '0.70',
      '0.49',
    ]);
  });
});
