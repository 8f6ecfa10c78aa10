import { describe, expect, it } from 'vitest';
import { exampleChannel as channel } from './example';
import { listed, markStepped, meant } from './finding';

describe('the search', () => {
  const channels = [
    channel(),
    channel({ number: 4, name: 'Film', group: 'Other' }),
    channel({ number: 13, name: 'Sport' }),
  ];
  const numbers = (search: string) => listed(channels, search).map(({ number }) => number);

  it('finds channels that have all the words, in the order of the guide', () => {
    expect(numbers('')).toEqual([3, 13, 4]);
    expect(numbers('NEWS weather')).toEqual([3]);
    expect(numbers('13')).toEqual([13]);
    expect(numbers('film public')).toEqual([]);
  });

  it('means the channel of that number, else the first that it finds', () => {
    const means = (search: string) => meant(listed(channels, search), search);
    expect(means('3')).toBe(3);
    expect(means('weather')).toBe(3);
    expect(means('other')).toBe(4);
    expect(means('nothing')).toBeNull();
    expect(means(' ')).toBeNull();
  });

  it('marks one channel after the other, round and round', () => {
    const list = listed(channels, '');
    expect(markStepped(list, null, 1)).toBe(3);
    expect(markStepped(list, 3, 1)).toBe(13);
    expect(markStepped(list, 4, 1)).toBe(3);
    expect(markStepped(list, null, -1)).toBe(4);
    expect(markStepped(list, 3, -1)).toBe(4);
    expect(markStepped([], 3, 1)).toBeNull();
  });
});
