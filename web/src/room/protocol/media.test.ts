import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeMemberMedia, MediaCutter, PIECE_BYTES_MAX } from './media';

const ORIGIN_US = 1_764_265_600_000_000;

/** What the room is held to, too: `crates/rooms/src/protocol/media.rs`. */
function fixture(name: string): string {
  const path = new URL(`../../../fixtures/${name}`, import.meta.url);
  return readFileSync(path, 'utf8').replaceAll(/\s/g, '');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function unit(role: 'key' | 'reference' | 'disposable' | 'voice', payload: Uint8Array, frame = 7) {
  const track = role === 'voice' ? ('audio' as const) : ('video' as const);
  return { track, role, frame, ptsUs: ORIGIN_US + 123_456, payload };
}

describe('the cutter of a room', () => {
  it.each([
    ['room-picture.hex', 'key'],
    ['room-voice.hex', 'voice'],
  ] as const)('makes what %s holds', (name, role) => {
    const [piece, ...others] = new MediaCutter(513, ORIGIN_US).cut(
      unit(role, new Uint8Array([1, 2, 3])),
    );
    expect(others).toEqual([]);
    expect(hex(piece ?? new Uint8Array())).toBe(fixture(name));
  });

  it('cuts long pictures into parts, which all say the same', () => {
    const payload = new Uint8Array(40_000).map((_, index) => index % 251);
    const pieces = new MediaCutter(1, ORIGIN_US).cut(unit('reference', payload));
    expect(pieces.length).toBe(3);
    const parts = pieces.map((piece) => decodeMemberMedia(piece.buffer));
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(PIECE_BYTES_MAX);
    expect(parts.map(({ header }) => [header.index, header.last, header.frame])).toEqual([
      [0, false, 7],
      [1, false, 7],
      [2, true, 7],
    ]);
    expect(Buffer.concat(parts.map((part) => part.payload))).toEqual(Buffer.from(payload));
  });

  it('counts the pictures that others are predicted from', () => {
    const cutter = new MediaCutter(1, ORIGIN_US);
    const roles = ['key', 'disposable', 'reference', 'voice', 'disposable', 'key'] as const;
    const references = roles.map((role, frame) => {
      const [piece] = cutter.cut(unit(role, new Uint8Array(1), frame));
      return decodeMemberMedia((piece ?? new Uint8Array()).buffer).header.references;
    });
    expect(references).toEqual([1, 2, 2, 0, 3, 3]);
  });

  it('tells by the track whose it is', () => {
    const [piece = new Uint8Array()] = new MediaCutter(1, ORIGIN_US).cut(
      unit('voice', new Uint8Array(1)),
    );
    new DataView(piece.buffer).setUint16(4, 2 * 300 + 1);
    expect(decodeMemberMedia(piece.buffer as ArrayBuffer).member).toBe(300);
  });
});
