/** What is the page's own; `vectors.test.ts` holds what it does as the Rust playout does. */

import { describe, expect, it } from 'vitest';
import type { Unit } from './assembler';
import { Playout, type Released } from './playout';
import { PICTURE_MS, picture, sound } from './units';

const BUDGET_US = 300_000;
const START_US = 10_000_000;
const START_FRAME = START_US / 1_000 / PICTURE_MS;
const START_SOUND = 2 * START_FRAME;

describe("the page's playout", () => {
  it('begins when the first picture is on the screen, not when it was handed out', () => {
    const tv = new Television();
    tv.receive(key(START_FRAME));
    expect(tv.frames('video')).toEqual([START_FRAME]);
    tv.advance(120_000);
    tv.playout.shown(START_US, tv.nowUs);
    expect(tv.playout.playAtUs(START_US)).toBe(START_US + 120_000);
  });

  it('hands out few pictures and no sound until then', () => {
    const tv = new Television();
    tv.receive(key(START_FRAME));
    for (let after = 1; after < 50; after++) {
      tv.receive(picture(START_FRAME + after));
      tv.receive(sound(START_SOUND + after));
    }
    tv.advance(300_000);
    expect(tv.frames('video')).toHaveLength(5);
    expect(tv.frames('audio')).toEqual([]);
    tv.playout.shown(START_US, tv.nowUs);
    tv.advance(10_000);
    expect(tv.frames('audio')[0]).toBe(START_SOUND + 1);
  });

  it('does not wait for a decoder that shows nothing', () => {
    const tv = new Television();
    tv.receive(key(START_FRAME));
    tv.receive(sound(START_SOUND + 1));
    tv.advance(690_000);
    expect(tv.frames('audio')).toEqual([]);
    tv.advance(30_000);
    expect(tv.frames('audio')).toEqual([START_SOUND + 1]);
    tv.playout.shown(START_US, tv.nowUs);
    expect(tv.playout.playAtUs(START_US)).toBeLessThan(tv.nowUs);
  });

  it('plays no sound from before the picture', () => {
    const tv = new Television();
    for (let before = 20; before > 0; before--) {
      tv.receive(sound(START_SOUND - before));
    }
    tv.receive(sound(START_SOUND));
    tv.receive(key(START_FRAME));
    tv.playout.shown(START_US, tv.nowUs);
    tv.advance(10_000);
    expect(tv.frames('audio')).toEqual([START_SOUND]);
  });

  it('tells how fast the media goes, and how far behind it is', () => {
    const tv = new Television();
    expect(tv.playout.place).toEqual({ speed: 1, behindUs: null });
    // Pictures of a second ago: 700 ms more than the budget are caught up in 14 s.
    for (let frame = START_FRAME - 25; frame <= START_FRAME; frame++) {
      tv.receive(frame === START_FRAME - 25 ? key(frame) : picture(frame));
      tv.playout.shown(START_US - 1_000_000, tv.nowUs);
    }
    expect(tv.playout.place.speed).toBeCloseTo(20 / 19);
    expect(tv.playout.place.behindUs).toBeGreaterThan(950_000);
    const there = START_US + 13_000_000;
    expect(tv.playout.speed(there - 100_000)).toBeCloseTo(20 / 19);
    expect(tv.playout.speed(there + 100_000)).toBe(1);
    tv.playout.setBudget(5_000_000);
    expect(tv.playout.place.speed).toBeCloseTo(20 / 21);
  });
});

function key(frame: number): Unit {
  return picture(frame, { key: true });
}

class Television {
  nowUs = START_US;
  readonly #released: Released[] = [];
  readonly playout = new Playout((released) => this.#released.push(released));

  constructor() {
    this.playout.connect(BUDGET_US);
    this.playout.observe(START_US, START_US);
  }

  receive(unit: Unit): void {
    this.playout.push(unit, this.nowUs);
    this.playout.poll(this.nowUs);
  }

  advance(us: number): void {
    for (const endUs = this.nowUs + us; this.nowUs < endUs; ) {
      this.nowUs += 10_000;
      this.playout.poll(this.nowUs);
    }
  }

  frames(track: Released['track']): number[] {
    return this.#released.filter((one) => one.track === track).map(({ frame }) => frame);
  }
}
