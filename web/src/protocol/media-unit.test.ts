import { describe, expect, it } from 'vitest';
import { decodeMediaUnit, encodeMediaUnit, type MediaUnit } from './media-unit';

const UNIT: MediaUnit = {
  track: 'audio',
  layer: 0,
  key: true,
  reference: false,
  disposable: true,
  discontinuity: true,
  last: true,
  frame: 0xffff_ffff,
  ptsUs: -40_000,
  playAtUs: 2 ** 50,
  delayMs: null,
  payload: Uint8Array.of(1, 2, 3),
};

describe('a media unit', () => {
  it('survives the extremes of its fields', () => {
    expect(decodeMediaUnit(encodeMediaUnit(UNIT).buffer as ArrayBuffer)).toEqual(UNIT);
  });

  it.each([
    ['no whole header', (bytes: Uint8Array) => bytes.slice(0, 31)],
    ['of format 2', (bytes: Uint8Array) => withByte(bytes, 0, 2)],
    ['track 9', (bytes: Uint8Array) => withByte(bytes, 1, 9)],
    ['of layer 8', (bytes: Uint8Array) => withByte(bytes, 2, 8)],
    ['announces 3 bytes and carries 2', (bytes: Uint8Array) => bytes.slice(0, -1)],
    ['announces 7 bytes and carries 3', (bytes: Uint8Array) => withByte(bytes, 31, 7)],
  ])('is refused: %s', (words, spoil) => {
    const spoilt = spoil(encodeMediaUnit(UNIT)).buffer as ArrayBuffer;
    expect(() => decodeMediaUnit(spoilt)).toThrow(words);
  });

  it('over the limit is refused', () => {
    const large = { ...UNIT, payload: new Uint8Array(4 * 1024 * 1024 + 1) };
    expect(() => decodeMediaUnit(encodeMediaUnit(large).buffer as ArrayBuffer)).toThrow(
      'announces',
    );
  });
});

function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = bytes.slice();
  changed[at] = value;
  return changed;
}
