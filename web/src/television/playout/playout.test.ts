import { describe, expect, it } from 'vitest';
import type { Unit } from './assembler';
import { Pace, PlayClock } from './clock';
import { Playout } from './playout';
import { PICTURE_MS, picture, sound } from './units';

const BUDGET_MS = 300;
/** When the viewer asks; the server's clock shows the same. */
const ASKED_MS = 10_000;
const ASKED_FRAME = ASKED_MS / PICTURE_MS;

describe('the play-out', () => {
  it('hands out the first picture when it comes', () => {
    const tv = new Television();
    tv.receive(key(ASKED_FRAME));
    expect(tv.pictures()).toEqual([ASKED_FRAME]);
  });

  it('lets the first picture wait a moment for what refines it', () => {
    const tv = new Television();
    tv.receive(key(ASKED_FRAME, { lastLayer: false }));
    expect(tv.pictures()).toEqual([]);
    tv.receive(picture(ASKED_FRAME, { layer: 1 }));
    expect(tv.layers).toEqual([2]);

    const base = new Television();
    base.receive(key(ASKED_FRAME, { lastLayer: false }));
    base.advance(50);
    expect(base.layers).toEqual([1]);
  });

  it('goes on at the pace of the media, as far behind as the first picture was old', () => {
    const tv = new Television();
    const first = ASKED_FRAME - 25;
    for (let frame = first; frame < ASKED_FRAME; frame++) {
      tv.receive(frame === first ? key(frame) : picture(frame));
    }
    tv.playout.shown(first * PICTURE_MS * 1000, tv.nowMs);
    expect(tv.pictures().length).toBeLessThan(8);
    const dueMs = tv.playout.dueMs((first + 10) * PICTURE_MS * 1000, tv.nowMs);
    expect(dueMs - tv.nowMs).toBeCloseTo(400, 0);
  });

  it('plays five per cent faster until no further behind than the budget', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 25, 400);
    expect(tv.speeds.has(1.05)).toBe(true);
    expect(tv.playout.clock.speed).toBe(1);
    expect(tv.behindMs()).toBeGreaterThan(BUDGET_MS - 60);
    expect(tv.behindMs()).toBeLessThan(BUDGET_MS + 30);
    expect(tv.playout.pictures.lost).toBe(0);
  });

  it('plays slower where what the network delays would come too late', () => {
    const tv = new Television();
    tv.delayMs = 100;
    tv.jitterMs = 80;
    tv.watchLive(ASKED_FRAME - 1, 200);
    expect(tv.speeds.has(0.95)).toBe(true);
    expect(tv.behindMs()).toBeGreaterThan(180);
    expect(tv.behindMs()).toBeLessThan(250);
    const lost = tv.playout.pictures.lost;
    tv.live(50);
    expect(tv.playout.pictures.lost).toBe(lost);
  });

  it('waits for a missing picture until just before the next is due, and counts it', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 5, 10);
    const missing = tv.nextFrame;
    tv.nextFrame += 1;
    tv.live(20);
    expect(tv.pictures()).not.toContain(missing);
    expect(tv.broken).toEqual([missing + 1]);
    expect(tv.playout.pictures.lost).toBe(1);
    tv.receive(picture(missing));
    expect([tv.playout.pictures.lost, tv.playout.pictures.late]).toEqual([0, 1]);
  });

  it('goes on behind a missing picture that no other one needs', () => {
    const tv = new Television();
    tv.receive(key(ASKED_FRAME, { references: 1 }));
    tv.receive(picture(ASKED_FRAME + 2, { references: 2 }));
    tv.receive(picture(ASKED_FRAME + 4, { references: 4 }));
    tv.advance(1_200);
    expect(tv.pictures()).toEqual([ASKED_FRAME, ASKED_FRAME + 2, ASKED_FRAME + 4]);
    expect(tv.broken).toEqual([ASKED_FRAME + 4]);
    expect(tv.playout.pictures.lost).toBe(2);
  });

  it('keeps decoding order where pictures come in another', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 5, 10);
    const [one, two] = [tv.nextFrame, tv.nextFrame + 1];
    tv.receive(picture(two));
    tv.receive(picture(one));
    tv.nextFrame += 2;
    tv.live(20);
    const played = tv.pictures();
    expect(played).toEqual([...played].sort((a, b) => a - b));
    expect(tv.broken).toEqual([]);
  });

  it('leaves out what an open group of pictures shows before its key frame', () => {
    const tv = new Television();
    const earlier = (ASKED_FRAME - 1) * PICTURE_MS * 1000;
    tv.receive(key(ASKED_FRAME));
    tv.receive(picture(ASKED_FRAME + 1, { ptsUs: earlier }));
    tv.receive(picture(ASKED_FRAME + 2));
    tv.advance(800);
    expect(tv.pictures()).toEqual([ASKED_FRAME, ASKED_FRAME + 2]);
  });

  it('plays sound with the picture, and none from before it', () => {
    const tv = new Television();
    const first = 2 * ASKED_FRAME;
    for (let frame = first - 20; frame < first + 5; frame++) {
      tv.receive(sound(frame));
    }
    expect(tv.sounds).toEqual([]);
    tv.receive(key(ASKED_FRAME));
    tv.playout.shown(ASKED_MS * 1000, tv.nowMs);
    tv.advance(10);
    expect(tv.sounds.at(-1)).toBe(first + 4);
    expect(tv.sounds[0]).toBeGreaterThanOrEqual(first - 3);
  });

  it('plays sound alone where there is no picture', () => {
    const tv = new Television();
    tv.playout.begin(false);
    for (let frame = 500; frame < 505; frame++) {
      tv.receive(sound(frame));
    }
    tv.advance(10);
    expect(tv.sounds).toEqual([]);
    tv.advance(300);
    expect(tv.sounds).toEqual([500, 501, 502, 503, 504]);
  });

  it('plays sound alone without a gap where a third of a second of it comes at once', () => {
    const tv = new Television();
    tv.playout.begin(false);
    tv.receive(sound(500));
    tv.advance(330);
    for (let frame = 501; frame < 517; frame++) {
      tv.receive(sound(frame));
    }
    expect(tv.playout.dueMs(sound(501).header.ptsUs, tv.nowMs)).toBeGreaterThan(tv.nowMs);
  });

  it('goes on at once where the server left much out', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 50, 10);
    tv.advance(2_500);
    const later = tv.nextFrame + 200;
    tv.receive(key(later));
    tv.advance(100);
    expect(tv.pictures()).toContain(later);
  });

  it('sets its clock anew when everything comes too late', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 1, 25);
    tv.delayMs = 700;
    tv.advance(700);
    tv.live(60);
    const { header } = picture(tv.nextFrame - 1);
    expect(tv.playout.dueMs(header.ptsUs, tv.nowMs)).toBeGreaterThan(tv.nowMs);
  });

  it('shows nothing of a source that began anew before its next key frame', () => {
    const tv = new Television();
    tv.watchLive(ASKED_FRAME - 5, 10);
    tv.playout.begin(true);
    const before = tv.pictures().length;
    tv.receive(picture(3, { session: 2 }));
    expect(tv.pictures()).toHaveLength(before);
    tv.receive(key(4, { session: 2 }));
    expect(tv.pictures().at(-1)).toBe(4);
  });
});

describe('the pace', () => {
  it('knows nothing before it has seen anything', () => {
    const pace = new Pace();
    expect([pace.behindMs(0), pace.speed(0, 300)]).toEqual([null, 1]);
  });

  it.each([50, 200, -200])(
    'keeps what comes in time where clocks are %i millionths apart for an hour',
    (ppm) => {
      const [pace, clock] = [new Pace(), new PlayClock()];
      const [wayMs, spare] = [30, { least: BUDGET_MS, most: BUDGET_MS }];
      for (let pts = 0; pts < 3_600_000; pts += 5 * PICTURE_MS) {
        const nowMs = (pts + wayMs) * (1 + ppm / 1e6);
        pace.observe(pts * 1000, nowMs);
        pace.arrived(pts * 1000, nowMs);
        if (!clock.running) {
          clock.start(pts * 1000, nowMs + BUDGET_MS);
        }
        const dueMs = clock.dueMs(pts * 1000) ?? Number.NaN;
        pace.placed(pts * 1000, dueMs, nowMs);
        spare.least = Math.min(spare.least, dueMs - nowMs);
        spare.most = Math.max(spare.most, dueMs - nowMs);
        clock.setSpeed(pace.speed(nowMs, BUDGET_MS), nowMs);
      }
      expect(spare.least).toBeGreaterThan(20);
      expect(spare.most).toBeLessThan(BUDGET_MS + 40);
    },
  );
});

function key(frame: number, fields: Partial<Unit['header']> = {}): Unit {
  return picture(frame, { key: true, ...fields });
}

/** A viewer, its clock, and a source whose pictures come `delayMs` after they were made. */
class Television {
  nowMs = ASKED_MS;
  delayMs = 0;
  jitterMs = 0;
  nextFrame = ASKED_FRAME;
  readonly layers: number[] = [];
  readonly broken: number[] = [];
  readonly sounds: number[] = [];
  readonly speeds = new Set<number>();
  readonly #played: number[] = [];
  readonly #pace = new Pace();
  readonly playout: Playout;

  constructor() {
    this.#pace.observe(ASKED_MS * 1000, ASKED_MS);
    this.playout = new Playout(this.#pace, {
      onPicture: ({ frame, layers, discontinuity }) => {
        this.#played.push(frame);
        this.layers.push(layers.length);
        if (discontinuity) {
          this.broken.push(frame);
        }
      },
      onSound: (ptsUs) => this.sounds.push(ptsUs / 20_000),
    });
    this.playout.restart(ASKED_MS);
  }

  receive(unit: Unit): void {
    this.playout.push(unit, this.nowMs);
    this.#poll();
  }

  advance(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; ) {
      this.nowMs += 5;
      this.#poll();
    }
  }

  /** Begins with what the server kept since the key frame `first`, then goes on live. */
  watchLive(first: number, pictures: number): void {
    for (let frame = first; frame < ASKED_FRAME; frame++) {
      this.receive(frame === first ? key(frame) : picture(frame));
      this.playout.shown(first * PICTURE_MS * 1000, this.nowMs);
    }
    this.live(pictures);
  }

  live(pictures: number): void {
    for (let count = 0; count < pictures; count++) {
      const jitterMs = count % 2 === 0 ? this.jitterMs : 0;
      const comesMs = this.nextFrame * PICTURE_MS + this.delayMs + jitterMs;
      this.advance(comesMs - this.nowMs);
      this.receive(picture(this.nextFrame));
      this.nextFrame += 1;
    }
  }

  pictures(): readonly number[] {
    return this.#played;
  }

  behindMs(): number {
    return this.#pace.behindMs(this.nowMs) ?? Number.NaN;
  }

  #poll(): void {
    this.playout.poll(this.nowMs, BUDGET_MS);
    this.speeds.add(this.playout.clock.speed);
  }
}
