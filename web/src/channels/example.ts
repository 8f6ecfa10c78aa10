/** A channel for tests. */

import type { Channel } from '../protocol/channel';

export function exampleChannel(fields: Partial<Channel> = {}): Channel {
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
