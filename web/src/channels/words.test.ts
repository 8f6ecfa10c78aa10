import { describe, expect, it } from 'vitest';
import { exampleChannel as channel } from './example';
import { matching, obstacleOf } from './words';

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
