import { describe, expect, it } from 'vitest';
import { exampleChannel as channel } from '../channels/example';
import type { Asked, Reception } from '../channels/words';
import { sentence } from '../common/sentences';
import type { Channel } from '../protocol/channel';
import type { ConnectionState } from '../rtc/connection';
import { bannerOf, excessWords } from './words';

const OPEN = { state: 'open' } as const;
const PLAYING = { state: 'playing' } as const;
const NOW_MS = 10_000;

describe('the words over the picture', () => {
  it('are none while it plays', () => {
    expect(banner(OPEN, channel(), PLAYING)).toBeNull();
  });

  it('count down to the next attempt', () => {
    const waiting = { state: 'waiting', untilMs: NOW_MS + 2_500, why: 'It is gone.' } as const;
    expect(banner(waiting, channel(), PLAYING)).toBe('It is gone. Trying again in 3 s.');
    const due = { ...waiting, untilMs: NOW_MS - 1 };
    expect(banner(due, channel(), PLAYING)).toBe('It is gone. Trying again …');
  });

  it('say why there is nothing to see', () => {
    const offAir = { state: 'off_air', text: 'its source ended.' } as const;
    expect(banner(OPEN, channel(), offAir)).toBe(
      'News is off air: its source ended. It goes on when it is back.',
    );
    const mpeg2 = channel({ playable: { is: 'no', text: 'it is MPEG-2' } });
    expect(banner(OPEN, mpeg2, PLAYING)).toBe('News cannot be played in a browser: it is MPEG-2.');
    expect(banner(OPEN, null, PLAYING)).toBe('There is no channel 3.');
    const empty = { ...asked(null), hasChannels: false };
    expect(bannerOf(OPEN, empty, PLAYING, NOW_MS)?.text).toMatch(/no channels yet/);
  });

  it('say that a channel was taken from the list, and why', () => {
    const ended = { state: 'off_air', text: 'the permission has ended.' } as const;
    const words = (reception: Reception) =>
      bannerOf(OPEN, { ...asked(null), taken: channel() }, reception, NOW_MS)?.text;
    expect(words(ended)).toBe(
      'News is not among your channels any more: the permission has ended.',
    );
    expect(words(PLAYING)).toBe('News is not among your channels any more.');
  });

  it('of the server become whole sentences', () => {
    expect(['too many requests', ' It is over. '].map(sentence)).toEqual([
      'Too many requests.',
      'It is over.',
    ]);
  });

  it('lead to another player where the browser cannot', () => {
    const obstacle = { state: 'obstacle', text: 'No AV1 here.' } as const;
    expect(bannerOf(OPEN, asked(channel()), obstacle, NOW_MS)).toEqual({
      text: 'No AV1 here.',
      isWait: false,
      link: '/ch/3.ts',
    });
  });
});

describe('the delay', () => {
  it('that is more than was chosen is said', () => {
    expect(excessWords(null, 300)).toBeNull();
    expect(excessWords(390, 300)).toBeNull();
    expect(excessWords(604, 300)).toBe('600 ms now');
    expect(excessWords(1_240, 300)).toBe('1.2 s now');
  });
});

function banner(
  connection: ConnectionState,
  channel: Channel | null,
  reception: Reception,
): string | null {
  return bannerOf(connection, asked(channel), reception, NOW_MS)?.text ?? null;
}

function asked(channel: Channel | null): Asked {
  return { number: 3, channel, taken: null, hasChannels: true };
}
