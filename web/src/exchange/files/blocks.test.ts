import { describe, expect, it } from 'vitest';
import { blocksOf, decodeFileMessage, encodeBlock, encodeWant, rangeOf } from './blocks';

describe('messages about files', () => {
  it('have their bytes where the room finds them', () => {
    const want = [1, 1, 2, 3, 4, 0, 0, 0, 5, 0, 0];
    expect([...encodeWant(0x0102_0304, 5)]).toEqual(want);
    const block = encodeBlock(0x0102_0304, 5, 6, new Uint8Array([115, 111]));
    expect([...block]).toEqual([2, 1, 2, 3, 4, 0, 0, 0, 5, 0, 6, 115, 111]);
    const { type, file, index, member, payload } = decodeFileMessage(block.buffer);
    expect([type, file, index, member]).toEqual(['block', 0x0102_0304, 5, 6]);
    expect([...payload]).toEqual([115, 111]);
  });

  it('are nothing else', () => {
    expect(() => decodeFileMessage(new ArrayBuffer(10))).toThrow('only 10 bytes');
    expect(() => decodeFileMessage(new Uint8Array(11).fill(3).buffer)).toThrow('type 3');
  });

  it('are about blocks of one length but for the last one', () => {
    expect([1, 4_000, 4_001].map(blocksOf)).toEqual([1, 1, 2]);
    expect(rangeOf(4_001, 0)).toEqual([0, 4_000]);
    expect(rangeOf(4_001, 1)).toEqual([4_000, 4_001]);
  });
});
