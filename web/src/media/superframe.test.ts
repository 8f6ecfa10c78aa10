import { describe, expect, it } from 'vitest';
import { superframe } from './superframe';

describe('a superframe', () => {
  it('of one frame is that frame', () => {
    const frame = Uint8Array.of(1, 2, 3);
    expect(superframe([frame])).toBe(frame);
  });

  it('of two short frames has an index of one byte for each size', () => {
    expect([...superframe([Uint8Array.of(7, 8), Uint8Array.of(9)])]).toEqual([
      7, 8, 9, 0b110_00_001, 2, 1, 0b110_00_001,
    ]);
  });

  it('uses as many bytes for every size as the largest needs, little-endian', () => {
    const joined = superframe([new Uint8Array(1), new Uint8Array(0x1_0203)]);
    expect([...joined.slice(1 + 0x1_0203)]).toEqual([
      0b110_10_001, 0x01, 0, 0, 0x03, 0x02, 0x01, 0b110_10_001,
    ]);
  });

  it('holds eight frames at most', () => {
    const frames = new Array<Uint8Array>(8).fill(Uint8Array.of(0));
    expect(superframe(frames).at(-1)).toBe(0b110_00_111);
    expect(() => superframe([...frames, Uint8Array.of(0)])).toThrow(RangeError);
    expect(() => superframe([])).toThrow(RangeError);
  });
});
