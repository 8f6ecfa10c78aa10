import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DecodeError } from './checks';
import { decodeProgramMessage } from './program';

describe('a text message', () => {
  it('that is not JSON is refused with its beginning', () => {
    expect(() => decodeProgramMessage('{"type": nope')).toThrow(
      new DecodeError('a text message is not JSON: {"type": nope'),
    );
  });

  it.each(['null', '[]', '7', '{}', '{"type": 3}'])('%s is no message', (json) => {
    expect(() => decodeProgramMessage(json)).toThrow(DecodeError);
  });

  it('of an unknown type is ignored, even one named like a property of every object', () => {
    expect(decodeProgramMessage('{"type": "weather"}')).toBeNull();
    expect(decodeProgramMessage('{"type": "toString"}')).toBeNull();
  });

  it('over the limit is refused unread', () => {
    expect(() => decodeProgramMessage(' '.repeat(256 * 1024 + 1))).toThrow('over the limit');
  });

  it('loses fields that this version does not know', () => {
    expect(decodeProgramMessage('{"type": "ended", "text": "Over.", "mood": "good"}')).toEqual({
      type: 'ended',
      body: { text: 'Over.' },
    });
  });
});

describe('a message with one wrong field', () => {
  it.each([
    ['stats', ['paths', 0, 'state'], 'broken', 'stats.paths[0].state should be one of active'],
    ['stats', ['paths', 1, 'rtt_ms'], -1, 'stats.paths[1].rtt_ms should be a number from 0'],
    ['stats', ['frames', 'shown'], 1.5, 'stats.frames.shown should be a whole number'],
    ['stats', ['layers'], new Array(17).fill({}), 'stats.layers should be an array of at most 16'],
    ['hello', ['title'], undefined, 'hello.title should be a short text, but is nothing'],
    ['hello', ['title'], 'a'.repeat(5000), 'hello.title should be a short text'],
    ['hello', ['controls', 'latency_ms'], [9, 1], 'should be smallest before largest'],
    ['treatments', ['treatments', 0, 'reliability'], 'hopeful', 'reliability should be an object'],
    ['hello', ['controls', 'channels'], 1, 'hello.controls.channels should be true or false'],
    ['channels', ['channels', 1, 'number'], -1, 'channels.channels[1].number should be a whole'],
    ['channels', ['channels', 0, 'playable', 'is'], 'maybe', 'playable.is should be one of'],
    ['tuned', ['state'], 'lost', 'tuned.state should be one of asked, on_air, off_air'],
    ['urgent', ['level'], 'panic', 'urgent.level should be one of notice, alarm'],
    ['event', ['severity'], 'fatal', 'event.severity should be one of info, good, warning, bad'],
  ] as const)('%s %j = %j names the field', (type, at, wrong, words) => {
    const message = readFileSync(new URL(`../../fixtures/${type}.json`, import.meta.url), 'utf8');
    expect(() => decodeProgramMessage(withField(message, at, wrong))).toThrow(words);
  });
});

function withField(json: string, at: readonly (string | number)[], value: unknown): string {
  const message = JSON.parse(json);
  const inner = at.slice(0, -1).reduce((object, name) => object[name], message);
  inner[at.at(-1) ?? ''] = value;
  return JSON.stringify(message);
}
