import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeMediaUnit, encodeMediaUnit } from './media-unit';
import { decodeProgramMessage } from './program';
import type { PageRequest } from './requests';

const FOLDER = new URL('../../fixtures/', import.meta.url);
const fixture = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
const FROM_PROGRAM = [
  'hello',
  'stats',
  'event',
  'treatments',
  'channels',
  'tuned',
  'urgent',
  'over',
  'error',
  'reconnecting',
  'finished',
  'ended',
] as const;

describe('the fixtures', () => {
  it.each(FROM_PROGRAM)('%s is decoded without losing a field', (type) => {
    const json = fixture(`${type}.json`);
    const { type: _, ...fields } = JSON.parse(json);
    expect(decodeProgramMessage(json)).toMatchObject({ type, body: fields });
  });

  it.each(requests())('$type is what the page sends', (request) => {
    expect(request).toEqual(JSON.parse(fixture(`${request.type}.json`)));
  });

  it('hold every example of the protocol text and nothing else', () => {
    const text = readFileSync(new URL('../../docs/page-protocol.md', FOLDER), 'utf8');
    const examples = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json);
    const files = readdirSync(FOLDER).filter((name) => /^(?!call-).*\.json$/.test(name));
    expect([...examples].sort()).toEqual(files.map(fixture).sort());
  });

  it('hold a media unit that is decoded and encoded to the same bytes', () => {
    const hex = fixture('media-unit.hex').trim().split(/\s+/);
    const bytes = Uint8Array.from(hex, (byte) => Number.parseInt(byte, 16));
    const unit = decodeMediaUnit(bytes.buffer);
    expect(unit).toEqual({
      track: 'video',
      layer: 0,
      key: true,
      reference: true,
      disposable: false,
      discontinuity: false,
      last: true,
      frame: 104,
      ptsUs: 4_160_000,
      playAtUs: 5_200_000,
      delayMs: 34.2,
      payload: Uint8Array.of(0x82, 0x49, 0x83, 0x42, 0x00),
    });
    expect(encodeMediaUnit(unit)).toEqual(bytes);
  });
});

function requests(): PageRequest[] {
  return [
    { type: 'set_link', path: 1, rate_kbps: 20000, delay_ms: 10, loss_percent: 0.5, cut: true },
    {
      type: 'set_treatment',
      class: 'video_enhancement',
      reliability: { lifetime_ms: 150 },
      ordered: false,
      priority: 4,
      path: null,
    },
    { type: 'preset', preset: 'live' },
    { type: 'set_latency', latency_ms: 300 },
    { type: 'choose', number: 20 },
    { type: 'seen', id: 3 },
    { type: 'restart' },
    {
      type: 'page_stats',
      decoded: 250,
      displayed: 249,
      dropped: 1,
      decode_errors: 0,
      audio_decoded: 500,
      longest_gap_ms: 44.1,
      av_skew_ms: 3.2,
    },
  ];
}
