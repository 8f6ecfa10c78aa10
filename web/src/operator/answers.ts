/** What the operator's interface answers: crates/apps/src/serve/openapi.json describes it. */

import {
  amount,
  array,
  type Checked,
  count,
  flag,
  nullable,
  object,
  oneOf,
  text,
} from '../protocol/checks';

const VIEWERS_MAX = 100_000;
const CHANNELS_MAX = 4_096;
const MESSAGES_MAX = 1_024;
const PATHS_MAX = 64;

const path = object({
  local: text,
  remote: text,
  rtt_ms: nullable(amount),
  sent_chunks: count,
  lost_chunks: count,
  sent_bytes: count,
});

const viewer = object({
  id: text,
  name: nullable(text),
  program: text,
  carrier: oneOf('native', 'browser'),
  since_ms: count,
  channel: nullable(count),
  zaps: count,
  skipped_units: count,
  reduction: nullable(text),
  queued_bytes: count,
  shown: count,
  late: count,
  lost: count,
  zap_ms: nullable(amount),
  paths: array(path, PATHS_MAX),
});

const channel = object({
  number: count,
  name: text,
  group: nullable(text),
  on_air: flag,
  playable: object({ is: oneOf('unknown', 'yes', 'no') }),
  obstacle: nullable(text),
  viewers: count,
  bits_per_second: count,
});

const message = object({
  id: count,
  level: oneOf('notice', 'alarm'),
  text,
  channel: nullable(count),
  seen: count,
  viewers: count,
});

export const viewers = array(viewer, VIEWERS_MAX);
export const channels = array(channel, CHANNELS_MAX);
export const messages = array(message, MESSAGES_MAX);
export const added = object({ number: count });

export type Viewer = Checked<typeof viewer>;
export type ViewerPath = Checked<typeof path>;
export type Channel = Checked<typeof channel>;
export type Message = Checked<typeof message>;

/** A channel to add; a command to run stands in the server's file only. */
export interface NewChannel {
  readonly name: string;
  readonly source: string;
  readonly number?: number;
  readonly group?: string;
  readonly program?: number;
  readonly now?: string;
  readonly next?: string;
  readonly access: ChannelAccess;
}

/** Who may watch: all, or who has a token for it. */
export type ChannelAccess = 'open' | 'token';

export interface NewMessage {
  readonly level: Message['level'];
  readonly text: string;
  /** To those who watch this channel only. */
  readonly channel?: number;
}
