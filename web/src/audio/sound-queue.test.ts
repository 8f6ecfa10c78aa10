import { describe, expect, it } from 'vitest';
import { SoundQueue } from './sound-queue';

const RATE = 48_000;
const QUANTUM = 128;
const QUANTUM_MS = (QUANTUM * 1000) / RATE;
const BLOCK_MS = 20;

describe('the sound queue', () => {
  it('is silent before the first block is due and plays it on time', () => {
    const queue = new SoundQueue();
    queue.push(block(100));
    const first = play(queue, 50, 118).findIndex((sample) => sample !== 0);
    expect((first * 1000) / RATE).toBeCloseTo(50, 0);
    expect(queue.skewMs ?? 99).toBeCloseTo(0, 1);
  });

  it('joins blocks without a break', () => {
    const queue = filled(0, 10);
    const played = play(queue, 0, 180).slice(QUANTUM);
    expect(Math.min(...played)).toBeCloseTo(0.5);
    expect(queue.underruns).toBe(0);
  });

  it('puts silence in the place of a lost block, so that what follows stays on time', () => {
    const queue = new SoundQueue();
    queue.push(block(0));
    queue.push(block(40));
    const played = play(queue, 0, 56);
    const silent = played.filter((sample) => sample === 0).length;
    expect((silent * 1000) / RATE).toBeCloseTo(BLOCK_MS, 0);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(1);
  });

  it('corrects a small error by playing a little faster', () => {
    const queue = filled(0, 400);
    play(queue, 0, 100);
    // The clock turns out to be 20 ms further.
    play(queue, 120, 140);
    expect(queue.skewMs).toBeGreaterThan(15);
    play(queue, 140, 7_000);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(5);
    expect(queue.underruns).toBe(0);
  });

  it('jumps over a large error', () => {
    const queue = filled(0, 100);
    play(queue, 0, 100);
    play(queue, 1_000, 1_010);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(1);
  });

  it('starts in the middle of a block when it comes late to it', () => {
    const queue = filled(0, 3);
    const played = play(queue, 30, 55);
    expect(played.at(-1)).toBeCloseTo(0.5);
  });

  it('counts running out of blocks and goes on when more come', () => {
    const queue = filled(0, 2);
    play(queue, 0, 60);
    expect(queue.underruns).toBe(1);
    expect(queue.skewMs).toBeNull();
    queue.push(block(60));
    expect(play(queue, 60, 75).at(-1)).toBeCloseTo(0.5);
  });

  it('repeats the last channel for an output with more of them', () => {
    const queue = new SoundQueue();
    queue.push(block(0));
    const output = [new Float32Array(QUANTUM), new Float32Array(QUANTUM)];
    queue.render(output, 5, RATE);
    expect(output[1]).toEqual(output[0]);
    expect(output[1]?.at(-1)).toBeCloseTo(0.5);
  });

  it('keeps at most ten seconds', () => {
    const queue = filled(0, 501);
    expect(play(queue, 0, 16).every((sample) => sample === 0)).toBe(true);
  });

  it('plays media that goes faster without a break', () => {
    const queue = new SoundQueue();
    for (let index = 0; index < 100; index++) {
      queue.push({ ...block((index * BLOCK_MS) / 1.05), speed: 1.05 });
    }
    const played = play(queue, 0, 1_900).slice(QUANTUM);
    expect(Math.min(...played)).toBeCloseTo(0.5);
    expect(Math.abs(queue.skewMs ?? 99)).toBeLessThan(1);
    expect(queue.underruns).toBe(0);
  });

  it('plays another sample rate at the right speed', () => {
    const queue = new SoundQueue();
    queue.push({
      dueMs: 0,
      sampleRate: RATE / 2,
      speed: 1,
      channels: [new Float32Array(480).fill(0.5)],
    });
    const played = play(queue, 0, 40);
    const heard = played.filter((sample) => sample !== 0).length;
    expect((heard * 1000) / RATE).toBeCloseTo(20, 0);
  });
});

function block(dueMs: number) {
  const samples = (RATE * BLOCK_MS) / 1000;
  return { dueMs, sampleRate: RATE, speed: 1, channels: [new Float32Array(samples).fill(0.5)] };
}

function filled(fromMs: number, blocks: number): SoundQueue {
  const queue = new SoundQueue();
  for (let index = 0; index < blocks; index++) {
    queue.push(block(fromMs + index * BLOCK_MS));
  }
  return queue;
}

/** What is heard from one time to another. */
function play(queue: SoundQueue, fromMs: number, toMs: number): number[] {
  const heard: number[] = [];
  for (let nowMs = fromMs; nowMs < toMs; nowMs += QUANTUM_MS) {
    const output = new Float32Array(QUANTUM);
    queue.render([output], nowMs, RATE);
    heard.push(...output);
  }
  return heard;
}
