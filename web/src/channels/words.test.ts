import { describe, expect, it } from 'vitest';
import { exampleChannel as channel } from './example';
import { obstacleOf } from './words';

describe('the guide', () => {
  it('says what keeps a channel from being watched', () => {
    expect(obstacleOf(channel())).toBeNull();
    expect(obstacleOf(channel({ on_air: false }))).toBe('Off air');
    expect(obstacleOf(channel({ playable: { is: 'no', text: 'HEVC.' } }))).toBe(
      'Cannot be played: HEVC',
    );
  });
});
