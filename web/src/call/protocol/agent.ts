/** What the agent of a call tells its page as text: see docs/call.md. */

import { exchangeMessages, file, line } from '../../exchange/protocol';
import {
  amount,
  array,
  type Check,
  type Checked,
  count,
  flag,
  nullable,
  object,
  oneOf,
  optional,
  text,
} from '../../protocol/checks';
import { decodeMessage, event, tagged } from '../../protocol/program';

const PATHS_MAX = 16;
const TEXTS_MAX = 1_000;
const FILES_MAX = 1_000;

/** Of a clock, a counter or a difference: may be below 0. */
const number: Check<number> = (value, at) =>
  typeof value === 'number' && value < 0 ? -amount(-value, at) : amount(value, at);

const device = oneOf('on', 'muted', 'none');

const voice = object({ codec: text, sample_rate: count, channels: count });

const video = object({
  codec: text,
  format: oneOf('vp9', 'vp8', 'annexb', 'av1'),
  width: nullable(count),
  height: nullable(count),
  fps: nullable(amount),
});

export const media = object({
  voice: nullable(voice),
  video: nullable(video),
  microphone: device,
  camera: device,
});

const hello = object({
  protocol: count,
  program: text,
  mode: oneOf('call'),
  now_us: count,
  name: nullable(text),
  link: nullable(text),
  page_sends: object({ voice: flag, video: flag }),
  page_plays: flag,
});

const peer = object({
  name: nullable(text),
  program: text,
  key: nullable(text),
  media,
});

const listeners = object({ is: oneOf('nobody', 'anyone_on_the_way'), text });

const state = object({
  state: oneOf('waiting', 'calling', 'in_call', 'no_path', 'ended'),
  text,
  since_us: count,
  peer: nullable(peer),
  listeners: optional(listeners),
  why: optional(text),
});

const encode = object({ video_bps: count, voice_bps: count, why: text });

export const PATH_USES = ['use', 'spare', 'never'] as const;

const path = object({
  id: count,
  name: nullable(text),
  local: text,
  remote: text,
  state: oneOf('active', 'potentially_failed', 'inactive', 'unconfirmed', 'closed'),
  use: oneOf(...PATH_USES),
  primary: flag,
  rtt_ms: nullable(amount),
  loss_percent: nullable(amount),
  sends_kbps: nullable(amount),
  receives_kbps: nullable(amount),
  carries: array(oneOf('voice', 'video'), 2),
  handoff_ms: nullable(amount),
});

const theirs = object({
  voice_frames: count,
  concealed: count,
  late: count,
  pictures: count,
  pictures_lost: count,
  delay_ms: nullable(amount),
});

export const paths = array(path, PATHS_MAX);

const stats = object({
  now_us: count,
  paths,
  voice: object({
    heard: count,
    concealed: count,
    late: count,
    delay_ms: nullable(amount),
    target_ms: nullable(amount),
    twice: flag,
  }),
  video: object({
    shown: count,
    lost: count,
    left_out: count,
    kbps: nullable(amount),
    fps: nullable(amount),
    av_offset_ms: nullable(number),
  }),
  carries_kbps: nullable(amount),
  theirs: nullable(theirs),
  quality: object({ is: oneOf('good', 'fair', 'bad'), text }),
});

const exchange = object({
  you: count,
  takes: object({ text: flag, files: flag }),
  texts: array(line, TEXTS_MAX),
  files: array(file, FILES_MAX),
});

const messages = {
  hello: tagged('hello', hello),
  state: tagged('state', state),
  encode: tagged('encode', encode),
  key_wanted: tagged('key_wanted', object({})),
  stats: tagged('stats', stats),
  event: tagged('event', event),
  taken: tagged('taken', object({ text })),
  error: tagged('error', object({ request: nullable(text), text })),
  exchange: tagged('exchange', exchange),
  ...exchangeMessages,
  bye: tagged('bye', object({ text })),
};

export type CallHello = Checked<typeof hello>;
export type CallState = Checked<typeof state>;
export type CallStats = Checked<typeof stats>;
export type CallPath = Checked<typeof path>;
export type PathUse = CallPath['use'];
export type Exchange = Checked<typeof exchange>;
export type Encode = Checked<typeof encode>;
export type Media = Checked<typeof media>;
export type Voice = Checked<typeof voice>;
export type CallVideo = Checked<typeof video>;
export type Device = Checked<typeof device>;
export type Quality = CallStats['quality'];
export type AgentMessage = ReturnType<(typeof messages)[keyof typeof messages]>;

/**
 * Returns the message, or `null` for a type that this version does not know; throws a
 * `DecodeError`.
 */
export function decodeAgentMessage(json: string): AgentMessage | null {
  return decodeMessage(json, messages);
}
