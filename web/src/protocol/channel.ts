/** Channels and urgent messages, as both protocols tell of them. */

import { array, type Checked, count, flag, object, oneOf, optional, text } from './checks';

const CHANNELS_MAX = 4_096;

export const programme = object({ now: optional(text), next: optional(text) });

/** `no` comes with the reason in words. */
const playable = object({ is: oneOf('unknown', 'yes', 'no'), text: optional(text) });

const channel = object({
  id: count,
  number: count,
  name: text,
  group: optional(text),
  on_air: flag,
  playable,
  programme,
});

export const channels = array(channel, CHANNELS_MAX);

export const urgent = object({ id: count, level: oneOf('notice', 'alarm'), text });

export type Channel = Checked<typeof channel>;
export type Programme = Checked<typeof programme>;
export type Urgent = Checked<typeof urgent>;
