import { describe, expect, it } from 'vitest';
import { channelIn, embeddedIn, withChannel } from './address';

describe('the address', () => {
  it('names a channel', () => {
    expect(channelIn('?channel=3')).toBe(3);
    expect(channelIn('?token=a.b&channel=12')).toBe(12);
    for (const search of ['', '?channel=', '?channel=news', '?channel=-1', '?channel=1e3']) {
      expect(channelIn(search), search).toBeNull();
    }
  });

  it('keeps all else when the channel changes', () => {
    expect(withChannel('https://host/?token=a.b', 3)).toBe('https://host/?token=a.b&channel=3');
    expect(withChannel('https://host/?channel=3', 12)).toBe('https://host/?channel=12');
  });

  it('names the channel of the bare player', () => {
    expect(embeddedIn('/embed/7')).toBe(7);
    expect(embeddedIn('/embed/7/')).toBe(7);
    expect(embeddedIn('/')).toBeNull();
  });
});
