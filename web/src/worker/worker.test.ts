import { describe, expect, it } from 'vitest';
import { Backoff } from '../media/backoff';
import type { Picture } from '../media/pictures';
import { ScreenMeter } from './screen-meter';

describe('the back-off', () => {
  it('waits 1, 2, 4, then every 5 seconds, and begins again after a success', () => {
    const backoff = new Backoff();
    expect([1, 2, 3, 4, 5].map(() => backoff.next())).toEqual([1000, 2000, 4000, 5000, 5000]);
    backoff.reset();
    expect(backoff.next()).toBe(1000);
  });
});

describe('the screen meter', () => {
  it('notes the layers of each picture and the place of those that are missing', () => {
    const meter = new ScreenMeter();
    meter.arrived(picture(6, 1), false);
    for (const [frame, layers] of [
      [7, 2],
      [8, 1],
      [11, 2],
    ] as const) {
      meter.arrived(picture(frame, layers), true);
    }
    meter.arrived(picture(12, 2), false);
    expect(meter.takePictures()).toEqual([2, 1, 0, 0, 2, 0]);
    expect(meter.takePictures()).toEqual([]);
  });

  it('counts across the wrap of the frame numbers, and takes a jump for a jump', () => {
    const meter = new ScreenMeter();
    for (const frame of [0xffff_ffff, 0, 1_000_000]) {
      meter.arrived(picture(frame, 1), true);
    }
    expect(meter.takePictures()).toEqual([1, 1, 1]);
  });

  it('measures rates over the last second', () => {
    const meter = new ScreenMeter();
    for (let frame = 0; frame < 50; frame++) {
      meter.shown(picture(frame, 1), frame * 40, 1280, 720);
    }
    expect(meter.rates(1_980)).toEqual({ fps: 25, kbps: 200 });
    expect(meter.displayed).toBe(50);
  });
});

function picture(frame: number, layers: number): Picture {
  return {
    frame,
    key: false,
    discontinuity: false,
    layers,
    disposable: false,
    ptsUs: 0,
    playAtUs: 0,
    data: new Uint8Array(1000),
    base: new Uint8Array(1000),
  };
}
