import { describe, expect, it } from 'vitest';
import { Concealer } from './concealer';
import { FRAME_MS, FRAME_SAMPLES, RATE } from './samples';
import { VoiceQueue } from './voice-queue';

const QUANTUM = 128;
const QUANTUM_MS = (QUANTUM * 1000) / RATE;
const TONE_HZ = 220;

describe('the voice queue', () => {
  it('plays what comes in time sample by sample, from its time on', () => {
    const queue = new VoiceQueue();
    fill(
      queue,
      Array.from({ length: 20 }, (_, frame) => 100 + frame * FRAME_MS),
    );
    const heard = play(queue, 100 - 3 * QUANTUM_MS, 400);
    const first = heard.findIndex((sample) => sample !== 0);
    expect((first * 1000) / RATE).toBeCloseTo(3 * QUANTUM_MS, 0);
    // From behind the fade on.
    const from = 3 * QUANTUM + 200;
    const off = heard.slice(from).map((sample, at) => sample - tone(from + at - 3 * QUANTUM));
    expect(Math.max(...off.map(Math.abs))).toBeLessThan(1e-6);
    expect(queue.moves).toBe(0);
  });

  it.each([
    ['stretched', 24],
    ['compressed', 17],
  ])('keeps the pitch of voice that is %s, and its time', (_, apartMs) => {
    const queue = new VoiceQueue();
    const { heard, skews } = live(queue, (frame) => frame * apartMs, 100);
    expect(queue.moves).toBeGreaterThan(10);
    expect(pitch(heard.slice(RATE / 10))).toBeCloseTo(TONE_HZ, -1);
    expect(Math.max(...skews.map(Math.abs))).toBeLessThan(21);
    expect(faintest(heard.slice(1000))).toBeGreaterThan(0.4);
    expect(steepest(heard)).toBeLessThan(1.3 * steepest(toneOf(RATE)));
    expect(queue.concealed + queue.late).toBe(0);
  });

  it('stretches one frame when the target of the playout grows at once', () => {
    const queue = new VoiceQueue();
    const { heard, skews } = live(queue, (frame) => frame * FRAME_MS + (frame > 20 ? 15 : 0), 60);
    expect(queue.moves).toBeGreaterThan(0);
    expect(queue.moves).toBeLessThan(4);
    expect(Math.abs(skews.at(-1) ?? 99)).toBeLessThan(11);
    expect(Math.min(...loudness(heard.slice(1000)))).toBeGreaterThan(0.2);
  });

  it('is silent between frames that are farther apart, and fades', () => {
    const queue = new VoiceQueue();
    fill(queue, [0, 20, 120, 140, 160, 180]);
    const heard = play(queue, 0, 170);
    const silent = heard.slice((RATE * 42) / 1000, (RATE * 119) / 1000);
    expect(silent.every((sample) => sample === 0)).toBe(true);
    expect(loudness(heard.slice((RATE * 125) / 1000))[0]).toBeGreaterThan(0.2);
    expect(steepest(heard)).toBeLessThan(1.3 * steepest(toneOf(RATE)));
    expect(queue.concealed).toBe(0);
  });

  it('conceals what it is told to, without a click and without a hole', () => {
    const queue = new VoiceQueue();
    fill(
      queue,
      Array.from({ length: 30 }, (_, frame) => frame * FRAME_MS),
      [7, 15, 16],
    );
    const heard = play(queue, 0, 580);
    expect(queue.concealed).toBe(3);
    expect(Math.min(...loudness(heard.slice(480)))).toBeGreaterThan(0.2);
    expect(steepest(heard.slice(480))).toBeLessThan(1.3 * steepest(toneOf(RATE)));
    expect(pitch(heard.slice(480))).toBeCloseTo(TONE_HZ, -1);
  });

  it('conceals for three frames what nobody told of, then is silent, and goes on', () => {
    const queue = new VoiceQueue();
    fill(queue, [0, 20, 40]);
    const heard = play(queue, 0, 200);
    expect(queue.concealed).toBe(3);
    expect(loudness(heard.slice((RATE * 65) / 1000, (RATE * 85) / 1000))[0]).toBeGreaterThan(0.2);
    expect(heard.slice((RATE * 122) / 1000).every((sample) => sample === 0)).toBe(true);
    expect(queue.skewMs).toBeNull();
    fill(queue, [220, 240]);
    expect(loudness(play(queue, 220, 255).slice(480))[0]).toBeGreaterThan(0.2);
  });

  it('throws away what comes when its place is taken', () => {
    const queue = new VoiceQueue();
    fill(queue, [0, 20]);
    play(queue, 0, 45);
    expect(queue.concealed).toBe(1);
    fill(queue, [40, 60]);
    expect(queue.late).toBe(1);
    expect(queue.heard).toBe(3);
  });

  it('begins in the middle of what is due when it comes late to it', () => {
    const queue = new VoiceQueue();
    fill(queue, [0, 20, 40]);
    play(queue, 30, 50);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(1);
  });

  it('follows a loudspeaker whose clock goes wrong by 1 in 200', () => {
    const queue = new VoiceQueue();
    const frames = 500;
    const skews: number[] = [];
    let pushed = 0;
    for (let nowMs = 0; nowMs < frames * FRAME_MS - 60; nowMs += QUANTUM_MS * 1.005) {
      while (pushed * FRAME_MS < nowMs + 50) {
        queue.push({ dueMs: pushed * FRAME_MS, samples: frame(pushed++) });
      }
      queue.render(new Float32Array(QUANTUM), nowMs);
      skews.push(Math.abs(queue.skewMs ?? 0));
    }
    expect(queue.moves).toBeGreaterThan(3);
    expect(Math.max(...skews)).toBeLessThan(21);
    expect(queue.concealed + queue.late).toBe(0);
  });

  it('jumps when the clock does', () => {
    const queue = new VoiceQueue();
    fill(
      queue,
      Array.from({ length: 40 }, (_, frame) => frame * FRAME_MS),
    );
    play(queue, 0, 100);
    play(queue, 500, 510);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(1);
  });

  it('is silent and takes anything after it was cleared', () => {
    const queue = new VoiceQueue();
    fill(queue, [1000, 1020]);
    queue.clear();
    expect(play(queue, 1000, 1010).every((sample) => sample === 0)).toBe(true);
    fill(queue, [500, 520]);
    expect(play(queue, 500, 515).some((sample) => sample !== 0)).toBe(true);
  });
});

describe('the concealer', () => {
  it('goes on with the last period, fades, and is silent after five frames', () => {
    const concealer = new Concealer();
    for (let number = 0; number < 5; number++) {
      concealer.take(frame(number));
    }
    const heard = Array.from({ length: 6 }, () => [...concealer.conceal(FRAME_SAMPLES)]).flat();
    for (let at = 0; at < FRAME_SAMPLES; at++) {
      expect(Math.abs((heard[at] ?? 0) - tone(5 * FRAME_SAMPLES + at))).toBeLessThan(0.05);
    }
    const loud = loudness(heard).map((highest) => Number(highest.toFixed(2)));
    expect(loud).toEqual([...loud].sort((a, b) => b - a));
    expect(heard.slice(5 * FRAME_SAMPLES).every((sample) => sample === 0)).toBe(true);
  });

  it('has nothing to say before anything was heard', () => {
    const heard = new Concealer().conceal(FRAME_SAMPLES);
    expect(heard.every((sample) => sample === 0)).toBe(true);
  });

  it('lets noise that it repeats not sound like a tone', () => {
    const concealer = new Concealer();
    let seed = 1;
    const noise = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647 - 0.5;
    };
    concealer.take(Float32Array.from({ length: 2 * FRAME_SAMPLES }, noise));
    const heard = [...concealer.conceal(FRAME_SAMPLES)];
    const [period, shorter] = [RATE / 60, RATE / 200];
    expect(heard[period + 100]).toBeCloseTo(heard[100] ?? 9, 2);
    expect(heard[shorter + 100]).not.toBeCloseTo(heard[100] ?? 9, 2);
  });
});

function tone(at: number): number {
  return 0.5 * Math.sin((2 * Math.PI * TONE_HZ * at) / RATE);
}

function toneOf(length: number): number[] {
  return Array.from({ length }, (_, at) => tone(at));
}

function frame(number: number): Float32Array {
  return Float32Array.from({ length: FRAME_SAMPLES }, (_, at) => tone(number * FRAME_SAMPLES + at));
}

function fill(queue: VoiceQueue, duesMs: readonly number[], lost: readonly number[] = []): void {
  for (const [number, dueMs] of duesMs.entries()) {
    queue.push({ dueMs, samples: lost.includes(number) ? null : frame(number) });
  }
}

function play(queue: VoiceQueue, fromMs: number, toMs: number): number[] {
  const heard: number[] = [];
  for (let quantum = 0; fromMs + quantum * QUANTUM_MS < toMs; quantum++) {
    const output = new Float32Array(QUANTUM);
    queue.render(output, fromMs + quantum * QUANTUM_MS);
    heard.push(...output);
  }
  return heard;
}

/** Plays frames that come 50 ms before their time. */
function live(queue: VoiceQueue, dueMs: (frame: number) => number, frames: number) {
  const heard: number[] = [];
  const skews: number[] = [];
  let pushed = 0;
  for (let quantum = 0; quantum * QUANTUM_MS < dueMs(frames) - 60; quantum++) {
    const nowMs = quantum * QUANTUM_MS;
    while (dueMs(pushed) < nowMs + 50) {
      queue.push({ dueMs: dueMs(pushed), samples: frame(pushed++) });
    }
    const output = new Float32Array(QUANTUM);
    queue.render(output, nowMs);
    heard.push(...output);
    skews.push(queue.skewMs ?? 0);
  }
  return { heard, skews };
}

/** Hz, by the zeros that are crossed upwards. */
function pitch(heard: readonly number[]): number {
  const crossed = heard.filter((sample, at) => sample >= 0 && (heard[at - 1] ?? 0) < 0);
  return (crossed.length * RATE) / heard.length;
}

/** The highest of each 10 ms. */
function loudness(heard: readonly number[]): number[] {
  const blocks = Math.floor(heard.length / 480);
  return Array.from({ length: blocks }, (_, block) =>
    Math.max(...heard.slice(block * 480, (block + 1) * 480).map(Math.abs)),
  );
}

/** The smallest height of the tone anywhere: places that do not fit cancel one another out. */
function faintest(heard: readonly number[]): number {
  const quarter = Math.round(RATE / TONE_HZ / 4);
  const heights = heard.slice(quarter).map((sample, at) => Math.hypot(sample, heard[at] ?? 0));
  return Math.min(...heights);
}

/** The largest step from one sample to the next. */
function steepest(heard: readonly number[]): number {
  return Math.max(...heard.slice(1).map((sample, at) => Math.abs(sample - (heard[at] ?? 0))));
}
