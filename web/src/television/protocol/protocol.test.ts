import { describe, expect, it } from 'vitest';
import { DecodeError } from '../../protocol/checks';
import { decodeServerMessage } from './control';
import { decodeMedia, isEnoughFor } from './media';
import { dataStream, isOrdered, roleOf, SLOTS, STILL_STREAM, STREAMS } from './streams';

/** The example that the program's test has, too. */
const EXAMPLE = [
  0x21, 0x91, 0x00, 0x07, 0x00, 0x00, 0x00, 0x01, 0x68, 0x01, 0x09, 0x83, 0x04, 0x80, 0xe8, 0xfb,
  0x03, 0xe3, 0x04, 0x80, 0xb1, 0xbd, 0x02, 0x01, 0x82, 0x49,
];

describe('a media message', () => {
  it('is read as the document lays it out', () => {
    const { header, payload } = decodeMedia(bytes(EXAMPLE));
    expect(header).toEqual({
      track: 'video',
      layer: 0,
      key: true,
      reference: true,
      lastLayer: false,
      discontinuity: true,
      session: 7,
      frame: 104,
      index: 1,
      last: true,
      references: 515,
      ptsUs: 4_160_000,
      atUs: 5_200_000,
    });
    expect([...payload]).toEqual([0x82, 0x49]);
  });

  it('may be shown before the time line begins', () => {
    const early = [...EXAMPLE.slice(0, 13), 0xff, 0xf0, 0x04, ...EXAMPLE.slice(17)];
    expect(decodeMedia(bytes(early)).header.ptsUs).toBe(-40_000);
  });

  it('tells whether a picture that it may refer to is missing before it', () => {
    const { header } = decodeMedia(bytes(EXAMPLE));
    const picture = (frame: number, references: number, reference: boolean) => {
      return { ...header, frame, references, reference };
    };
    const before = picture(7, 5, true);
    expect(isEnoughFor(before, picture(8, 6, false))).toBe(true);
    expect(isEnoughFor(before, picture(10, 6, true))).toBe(true);
    expect(isEnoughFor(before, picture(10, 7, true))).toBe(false);
    expect(isEnoughFor(picture(7, 5, false), picture(10, 5, true))).toBe(true);
    expect(isEnoughFor(picture(7, 0, true), picture(9, 0, true))).toBe(false);
  });

  it.each([
    ['another version', 0, 0x31],
    ['packets', 0, 0x20],
    ['an unknown class', 1, 0x90],
    ['a layer that no picture has', 6, 8],
    ['more than one run', 7, 2],
    ['more than one unit', 23, 2],
  ])('with %s is refused', (_, at, value) => {
    const broken = EXAMPLE.with(at, value);
    expect(() => decodeMedia(bytes(broken))).toThrow(DecodeError);
  });

  it('with a number that no source reaches is refused', () => {
    const index = [...EXAMPLE.slice(0, 9), 0x80, 0x08, ...EXAMPLE.slice(10)];
    expect(() => decodeMedia(bytes(index))).toThrow('part 1024');
    const frame = [...EXAMPLE.slice(0, 8), ...Array(8).fill(0xff), 1, ...EXAMPLE.slice(9)];
    expect(() => decodeMedia(bytes(frame))).toThrow('larger than any source reaches');
  });

  it('without a whole header is refused', () => {
    for (let length = 0; length < 24; length++) {
      expect(() => decodeMedia(bytes(EXAMPLE.slice(0, length)))).toThrow(DecodeError);
    }
    expect(decodeMedia(bytes(EXAMPLE.slice(0, 24))).payload).toHaveLength(0);
  });
});

describe('the streams', () => {
  it('have the numbers of the document', () => {
    expect([0, 1, 2, 3, 4, 5, 33, 34].map(roleOf)).toEqual([
      { kind: 'control' },
      { kind: 'urgent' },
      { kind: 'data', slot: 0 },
      { kind: 'base', slot: 0 },
      { kind: 'enhancement', slot: 0 },
      { kind: 'audio', slot: 0 },
      { kind: 'audio', slot: 7 },
      { kind: 'still' },
    ]);
    expect(STREAMS).toBe(35);
  });

  it('are ordered where words are said', () => {
    const ordered = Array.from({ length: STREAMS }, (_, stream) => stream).filter(isOrdered);
    const data = Array.from({ length: SLOTS }, (_, slot) => dataStream(slot));
    expect(ordered).toEqual([0, 1, ...data, STILL_STREAM]);
  });
});

describe('a text of the server', () => {
  it('is read with what is left out as null', () => {
    const entry = { id: 3, number: 3, name: 'News', on_air: true, playable: { is: 'yes' } };
    const text = JSON.stringify({ type: 'channels', channels: [{ ...entry, programme: {} }] });
    expect(decodeServerMessage(text)).toEqual({
      type: 'channels',
      body: {
        channels: [
          {
            ...entry,
            group: null,
            playable: { is: 'yes', text: null },
            programme: { now: null, next: null },
          },
        ],
      },
    });
  });

  it('of a later version is known to be unknown', () => {
    expect(decodeServerMessage('{"type":"dance"}')).toBeNull();
  });

  it.each([
    ['that is no JSON', '{'],
    ['without a type', '{}'],
    ['with a wrong field', '{"type":"over","id":"seven"}'],
    ['of a level that there is not', '{"type":"urgent","id":1,"level":"loud","text":""}'],
    ['that is too long', `"${'x'.repeat(300_000)}"`],
  ])('%s is refused', (_, text) => {
    expect(() => decodeServerMessage(text)).toThrow(DecodeError);
  });
});

function bytes(values: readonly number[]): ArrayBuffer {
  return new Uint8Array(values).buffer;
}
