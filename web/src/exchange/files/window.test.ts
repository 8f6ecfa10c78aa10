import { describe, expect, it } from 'vitest';
import { DelayWindow } from './window';

const ROUND_TRIP_MS = 40;

/** A network that takes so long for a block, and has so much of a queue already. */
class Network {
  readonly window = new DelayWindow(256);
  readonly #due: { readonly atMs: number; readonly askedMs: number }[] = [];
  #freeMs = 0;
  nowMs = 0;
  came = 0;
  blockMs: number;
  crossMs = 0;

  constructor(blockMs: number) {
    this.blockMs = blockMs;
  }

  run(ms: number): void {
    const end = this.nowMs + ms;
    for (; this.nowMs < end; this.nowMs += 1) {
      while (this.#due.length < this.window.blocks) {
        this.#freeMs = Math.max(this.#freeMs, this.nowMs) + this.blockMs;
        this.#due.push({ atMs: this.#freeMs + ROUND_TRIP_MS + this.crossMs, askedMs: this.nowMs });
      }
      for (let first = this.#due[0]; first !== undefined && first.atMs <= this.nowMs; ) {
        this.#due.shift();
        this.came += 1;
        this.window.came(this.nowMs, this.nowMs - first.askedMs);
        first = this.#due[0];
      }
    }
  }

  get queueMs(): number {
    return Math.max(0, this.#freeMs - this.nowMs);
  }
}

describe('the window of a download', () => {
  it.each([1, 4, 30])('fills a network of %d ms a block, and queues little', (blockMs) => {
    const network = new Network(blockMs);
    network.run(5_000);
    const before = network.came;
    network.run(5_000);
    expect(network.came - before).toBeGreaterThan((0.85 * 5_000) / blockMs);
    expect(network.queueMs).toBeLessThan(80 + 2 * blockMs);
  });

  it('yields to what fills the queue beside it', () => {
    const network = new Network(4);
    network.run(5_000);
    network.crossMs = 150;
    const before = network.window.blocks;
    network.run(10_000);
    expect(network.window.blocks).toBeLessThan(before / 3);
    network.crossMs = 0;
    network.run(10_000);
    expect(network.window.blocks).toBeGreaterThan((0.9 * ROUND_TRIP_MS) / 4);
  });

  it('begins with one block again after nothing came for long', () => {
    const network = new Network(1);
    network.run(5_000);
    network.window.stalled();
    expect(network.window.blocks).toBe(1);
  });
});
