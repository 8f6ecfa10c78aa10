/** An invented server of channels, as `anabranch watch` tells a page of it. */

import type { Tuned } from '../src/protocol/program';

const NOTHING = { now: null, next: null };

export const CHANNELS = [
  channel(1, 'News', { group: 'Public', programme: { now: 'Weather', next: 'The day' } }),
  channel(2, 'Sport', { group: 'Public', programme: { now: 'Cycling', next: null } }),
  channel(3, 'Garden', { group: 'Private', on_air: false }),
  channel(12, 'Harbour', { group: 'Private' }),
  channel(20, 'Old Films', {
    group: 'Private',
    playable: { is: 'no', text: 'its video is MPEG-2' },
  }),
];

/** The messages that answer a choice, in their order; `null` stands for the greeting. */
export function tune(number: number): readonly (object | null)[] {
  const chosen = CHANNELS.find((entry) => entry.number === number);
  if (chosen === undefined) {
    const known = CHANNELS.map(({ number, name }) => `${number} ${name}`).join(', ');
    const text = `${number} is not a channel of this server; there are ${known}.`;
    return [{ type: 'error', request: 'choose', text }];
  }
  const asked = tuned({ number, state: 'asked', text: null });
  return chosen.on_air
    ? [asked, null, tuned({ number, state: 'on_air', text: null })]
    : [asked, tuned({ number, state: 'off_air', text: 'Its source ended.' })];
}

function tuned(body: Tuned): object {
  return { type: 'tuned', ...body };
}

function channel(number: number, name: string, others: object = {}) {
  return {
    id: 100 + number,
    number,
    name,
    group: null,
    on_air: true,
    playable: { is: 'yes' },
    programme: NOTHING,
    ...others,
  };
}
