import { describe, expect, it } from 'vitest';
import type { ConnectionState } from './connection';
import type { Channel } from './protocol/control';
import type { Reception } from './state/store';
import { bannerOf, matching, obstacleOf, sentence } from './words';

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
    expect(banner(OPEN, null, PLAYING)).toBe('There is no such channel.');
    expect(bannerOf(OPEN, null, false, PLAYING, NOW_MS)?.text).toMatch(/no channels yet/);
  });

  it('of the server become whole sentences', () => {
    expect(['too many requests', ' It is over. '].map(sentence)).toEqual([
      'Too many requests.',
      'It is over.',
    ]);
  });

  it('lead to another player where the browser cannot', () => {
    const obstacle = { state: 'obstacle', text: 'No AV1 here.' } as const;
    expect(bannerOf(OPEN, channel(), true, obstacle, NOW_MS)).toEqual({
      text: 'No AV1 here.',
      isWait: false,
      link: '/ch/3.ts',
    });
  });
});

describe('the guide', () => {
  it('says what keeps a channel from being watched', () => {
    expect(obstacleOf(channel())).toBeNull();
    expect(obstacleOf(channel({ on_air: false }))).toBe('Off air');
    expect(obstacleOf(channel({ playable: { is: 'no', text: 'HEVC.' } }))).toBe(
      'Cannot be played: HEVC',
    );
  });

  it('finds channels that have all the words', () => {
    const channels = [channel(), channel({ number: 12, name: 'Sport', group: 'Other' })];
    const numbers = (search: string) => matching(channels, search).map(({ number }) => number);
    expect(numbers('')).toEqual([3, 12]);
    expect(numbers('NEWS weather')).toEqual([3]);
    expect(numbers('12')).toEqual([12]);
    expect(numbers('sport public')).toEqual([]);
  });
});

function banner(
  connection: ConnectionState,
  channel: Channel | null,
  reception: Reception,
): string | null {
  return bannerOf(connection, channel, true, reception, NOW_MS)?.text ?? null;
}

function channel(fields: Partial<Channel> = {}): Channel {
  return {
    id: 103,
    number: 3,
    name: 'News',
    group: 'Public',
    on_air: true,
    playable: { is: 'yes', text: null },
    programme: { now: 'Weather', next: null },
    ...fields,
  };
}
