import { describe, expect, it } from 'vitest';
import type { Channel } from './answers';
import { duration, stateOf } from './words';

const NEWS: Channel = {
  number: 1,
  name: 'News',
  group: null,
  on_air: true,
  playable: { is: 'yes' },
  obstacle: null,
  viewers: 0,
  bits_per_second: 0,
};

describe("the operator's words", () => {
  it('tell a channel that is on air from one that is not, and say why', () => {
    expect(stateOf(NEWS)).toMatchObject({ word: 'On air', why: null });
    const lost = { ...NEWS, on_air: false, obstacle: 'no packet came for 3 s' };
    expect(stateOf(lost)).toMatchObject({ word: 'Off air', why: 'no packet came for 3 s' });
    const mpeg2 = { ...NEWS, playable: { is: 'no' }, obstacle: 'it is MPEG-2' } as const;
    expect(stateOf(mpeg2)).toMatchObject({ word: 'Players only', why: 'it is MPEG-2' });
  });

  it('tell times as exactly as one wants to know them', () => {
    const times = [0, 59_999, 60_000, 3_599_000, 3_600_000, 90_000_000, 200_000_000].map(duration);
    expect(times).toEqual(['0 s', '59 s', '1 min', '59 min', '1 h 0 min', '25 h 0 min', '2 days']);
  });
});
