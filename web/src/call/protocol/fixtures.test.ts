import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeFileMessage } from '../../exchange/files/blocks';
import { decodeAgentMessage } from './agent';
import {
  decodeCallMessage,
  decodeCallUnit,
  decodeSentUnit,
  encodeCallBlock,
  encodeCallUnit,
  encodeSentUnit,
} from './media';
import type { CallRequest } from './requests';

const FOLDER = new URL('../../../fixtures/', import.meta.url);
const fixture = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
const SHA256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const FROM_AGENT = [
  ['hello', 'hello'],
  ['state', 'state-waiting'],
  ['state', 'state-calling'],
  ['state', 'state-in-call'],
  ['state', 'state-no-path'],
  ['state', 'state-ended'],
  ['encode', 'encode'],
  ['key_wanted', 'key-wanted'],
  ['stats', 'stats'],
  ['event', 'event'],
  ['exchange', 'exchange'],
  ['text', 'text'],
  ['file', 'file'],
  ['file_refused', 'file-refused'],
  ['file_gone', 'file-gone'],
  ['taken', 'taken'],
  ['error', 'error'],
  ['bye', 'bye'],
] as const;

describe('the fixtures of a call', () => {
  it.each(FROM_AGENT)('%s is decoded from call-%s.json without losing a field', (type, name) => {
    const json = fixture(`call-${name}.json`);
    const { type: _, ...fields } = JSON.parse(json);
    expect(decodeAgentMessage(json)).toMatchObject({ type, body: fields });
  });

  it.each(requests())('%s is what the page sends', (name, request) => {
    expect(request).toEqual(JSON.parse(fixture(`call-${name}.json`)));
  });

  it('hold every example of the protocol text and nothing else', () => {
    const text = readFileSync(new URL('../../docs/call.md', FOLDER), 'utf8');
    const [, ofThePage = ''] = text.split('## Between the agent and its page');
    const examples = [...ofThePage.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json);
    const files = readdirSync(FOLDER).filter((name) => /^call-.*\.json$/.test(name));
    expect(examples.sort()).toEqual(files.map((name) => fixture(name)).sort());
    const read = [...FROM_AGENT.map(([, name]) => name), ...requests().map(([name]) => name)];
    expect(files.map((name) => name.slice(5, -5)).sort()).toEqual(read.sort());
  });

  it('hold a frame of voice, and one to conceal', () => {
    const common = {
      track: 'audio',
      layer: 0,
      key: false,
      reference: false,
      disposable: false,
      discontinuity: false,
      delayMs: null,
    };
    expect(decodeCallUnit(bytesOf('call-voice').buffer)).toEqual({
      ...common,
      last: true,
      conceal: false,
      frame: 3010,
      ptsUs: 65_180_000,
      playAtUs: 65_240_000,
      payload: Uint8Array.of(0x48, 0x0b, 0xe4, 0xc1),
    });
    expect(decodeCallUnit(bytesOf('call-conceal').buffer)).toEqual({
      ...common,
      last: true,
      conceal: true,
      frame: 3011,
      ptsUs: 65_200_000,
      playAtUs: 65_260_000,
      payload: new Uint8Array(0),
    });
    for (const name of ['call-voice', 'call-conceal']) {
      const bytes = bytesOf(name);
      expect(encodeCallUnit(decodeCallUnit(bytes.buffer))).toEqual(bytes);
    }
  });

  it('hold a message about a file', () => {
    const bytes = bytesOf('call-want-block');
    const read = decodeCallMessage(bytes.buffer);
    const message = read.track === 'files' ? read.message : new ArrayBuffer(0);
    expect(decodeFileMessage(message)).toMatchObject({ type: 'want', file: 2, index: 7 });
    expect(encodeCallBlock(new Uint8Array(message))).toEqual(bytes);
  });

  it('hold what the page sends of voice and pictures', () => {
    const voice = {
      track: 'audio',
      role: 'voice',
      frame: 17,
      ptsUs: 812_345,
      payload: Uint8Array.of(0x48, 0x0b, 0xe4, 0xc1),
    } as const;
    const picture = {
      track: 'video',
      role: 'key',
      frame: 0,
      ptsUs: 800_000,
      payload: Uint8Array.of(0x82, 0x49, 0x83, 0x42, 0x00),
    } as const;
    expect(encodeSentUnit(voice)).toEqual(bytesOf('call-page-voice'));
    expect(encodeSentUnit(picture)).toEqual(bytesOf('call-page-picture'));
    expect(decodeSentUnit(bytesOf('call-page-voice'))).toEqual(voice);
    expect(decodeSentUnit(bytesOf('call-page-picture'))).toEqual(picture);
  });
});

function bytesOf(name: string): Uint8Array<ArrayBuffer> {
  const hex = fixture(`${name}.hex`).trim().split(/\s+/);
  return Uint8Array.from(hex, (byte) => Number.parseInt(byte, 16));
}

function requests(): [string, CallRequest][] {
  const voice = { codec: 'opus', sample_rate: 48000, channels: 1 };
  const video = {
    codec: 'vp09.00.31.08',
    format: 'vp9',
    width: 640,
    height: 360,
    fps: 25,
  } as const;
  return [
    [
      'devices',
      { type: 'devices', microphone: 'on', camera: 'none', text: 'No camera was found.' },
    ],
    ['sending', { type: 'sending', voice, video }],
    ['path-use', { type: 'path_use', path: 1, use: 'spare' }],
    ['primary', { type: 'primary', path: 0 }],
    ['leave', { type: 'leave', path: 0 }],
    ['voice-twice', { type: 'voice_twice', on: false }],
    ['want-key', { type: 'want_key' }],
    ['write', { type: 'text', text: 'Yes, and read it.' }],
    ['offer-file', { type: 'offer_file', name: 'notes.pdf', size: 2_000_000, sha256: SHA256 }],
    ['withdraw-file', { type: 'withdraw_file', file: 2 }],
    ['hang-up', { type: 'hang_up' }],
    [
      'page-stats',
      {
        type: 'page_stats',
        heard: 3010,
        concealed: 1,
        shown: 1489,
        decode_errors: 0,
        encoder_queue: 0,
        av_skew_ms: 3.2,
      },
    ],
  ];
}
