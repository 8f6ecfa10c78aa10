import { describe, expect, it } from 'vitest';
import { BLOCK_BYTES, rangeOf } from './blocks';
import { Download, hashOf } from './download';

const SIZE = 100 * BLOCK_BYTES + 7;
const BYTES = Uint8Array.from({ length: SIZE }, (_, at) => (at * 31) % 251);
const FILE = new Blob([BYTES]);

async function download(): Promise<{ wanted: Download; asked: number[] }> {
  const asked: number[] = [];
  const sha256 = await hashOf(FILE, () => undefined);
  return {
    wanted: new Download({ size: SIZE, sha256 }, 0, { ask: (index) => asked.push(index) }),
    asked,
  };
}

function block(index: number): Uint8Array<ArrayBuffer> {
  return BYTES.slice(...rangeOf(SIZE, index));
}

/** Answers all that is asked for, the last one first. */
function answer(wanted: Download, asked: number[], nowMs: number): void {
  for (const index of asked.splice(0).reverse()) {
    wanted.came(nowMs, index, block(index));
  }
}

describe('a download', () => {
  it('asks for each block once, and has the file when all are here', async () => {
    const { wanted, asked } = await download();
    const all: number[] = [];
    for (let nowMs = 0; wanted.state.is === 'running' && nowMs < 10_000; nowMs += 10) {
      wanted.poll(nowMs);
      all.push(...asked);
      answer(wanted, asked, nowMs + 5);
      all.push(...asked);
    }
    expect(new Set(all).size).toBe(101);
    expect(wanted.bytes).toBe(SIZE);
    if (wanted.state.is !== 'done') {
      throw new Error(wanted.state.is);
    }
    const same = Buffer.compare(new Uint8Array(await wanted.state.blob.arrayBuffer()), BYTES);
    expect(same).toBe(0);
  });

  it('is no file where a byte is another one', async () => {
    const { wanted, asked } = await download();
    for (let nowMs = 0; wanted.state.is === 'running' && nowMs < 10_000; nowMs += 10) {
      wanted.poll(nowMs);
      for (const index of asked.splice(0)) {
        const bytes = block(index);
        bytes[0] = (bytes[0] ?? 0) ^ (index === 50 ? 1 : 0);
        wanted.came(nowMs, index, bytes);
      }
    }
    expect(wanted.state).toEqual({ is: 'wrong' });
  });

  it('goes on where it was when nothing came for long, or on another connection', async () => {
    const { wanted, asked } = await download();
    wanted.poll(0);
    const first = asked.splice(0);
    wanted.came(10, 0, block(0));
    asked.length = 0;
    wanted.poll(3_000);
    expect(asked).toEqual([]);
    wanted.poll(3_011);
    expect(asked).toEqual([1]);
    // What was asked for before is of no use any more, but for what is asked for again.
    wanted.came(3_012, first.at(-1) ?? 0, block(first.at(-1) ?? 0));
    expect(wanted.bytes).toBe(BLOCK_BYTES);
    wanted.restart(4_000);
    asked.length = 0;
    wanted.poll(4_000);
    expect(asked).toEqual([1]);
  });

  it('takes nothing that it did not ask for, and nothing longer or shorter', async () => {
    const { wanted, asked } = await download();
    wanted.poll(0);
    expect(asked[0]).toBe(0);
    wanted.came(1, 90, block(90));
    wanted.came(1, 0, block(0).slice(1));
    wanted.came(1, 0, new Uint8Array(BLOCK_BYTES + 1));
    expect(wanted.bytes).toBe(0);
    wanted.came(1, 0, block(0));
    wanted.came(1, 0, block(0));
    expect(wanted.bytes).toBe(BLOCK_BYTES);
  });

  it('goes on behind the parts that are here, and not with one of another length', async () => {
    const { wanted, asked } = await download();
    const part = (from: number, to: number) =>
      new Blob([BYTES.slice(from * BLOCK_BYTES, to * BLOCK_BYTES)]);
    const odd = new Blob([BYTES.slice(60 * BLOCK_BYTES, 61 * BLOCK_BYTES + 1)]);
    const restored = wanted.restore([part(0, 40), part(40, 60), odd, part(61, 70)]);
    wanted.poll(0);
    expect(asked).toEqual([]);
    await restored;
    expect(wanted.bytes).toBe(60 * BLOCK_BYTES);
    wanted.poll(1);
    expect(asked[0]).toBe(60);
    for (let nowMs = 10; wanted.state.is === 'running' && nowMs < 10_000; nowMs += 10) {
      answer(wanted, asked, nowMs);
    }
    expect(wanted.state.is).toBe('done');
  });

  it('is told how much of a file is read', async () => {
    const read: number[] = [];
    expect(await hashOf(new Blob(['abc']), (bytes) => read.push(bytes))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    expect(read).toEqual([3]);
  });
});
