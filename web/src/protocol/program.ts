/** What the program tells the page as text: see docs/page-protocol.md. */

import { channels, urgent } from './channel';
import {
  amount,
  array,
  type Check,
  type Checked,
  count,
  DecodeError,
  either,
  flag,
  nullable,
  object,
  oneOf,
  range,
  text,
} from './checks';

export const PROTOCOL_VERSION = 1;

const TEXT_MESSAGE_LIMIT = 256 * 1024;
const PATHS_MAX = 16;
const LAYERS_MAX = 16;
const LEVELS_MAX = 4;
const CLASSES_MAX = 32;
const NOT_PLAYED_MAX = 16;

/**
 * Returns the message, or `null` for a type that this version does not know; throws a {@link
 * DecodeError}.
 */
export function decodeProgramMessage(json: string): ProgramMessage | null {
  return decodeMessage(json, messages);
}

const video = object({
  codec: text,
  format: oneOf('vp9', 'annexb', 'av1'),
  width: nullable(count),
  height: nullable(count),
  fps: nullable(amount),
});

const audio = object({
  codec: text,
  format: oneOf('opus', 'adts', 'mp3'),
  sample_rate: count,
  channels: count,
});

const attribution = object({
  text,
  url: nullable(text),
  license: text,
  license_url: nullable(text),
});

const pathName = { id: count, name: nullable(text), local: text, remote: text };
const named = object({ id: text, name: text });

const controls = object({
  links: nullable(object({ rate_kbps: range, delay_ms: range, loss_percent: range })),
  treatments: nullable(object({ priority: range, lifetime_ms: range, max_retransmissions: range })),
  latency_ms: nullable(range),
  channels: flag,
});

const hello = object({
  protocol: count,
  program: text,
  mode: oneOf('demo', 'recv', 'watch'),
  title: nullable(text),
  now_us: count,
  latency_ms: amount,
  video: nullable(video),
  audio: nullable(audio),
  not_played: array(text, NOT_PLAYED_MAX),
  attribution: nullable(attribution),
  paths: array(object(pathName), PATHS_MAX),
  layers: array(named, LAYERS_MAX),
  classes: array(named, CLASSES_MAX),
  controls,
});

const link = object({ rate_kbps: amount, delay_ms: amount, loss_percent: amount, cut: flag });

const pathStats = object({
  ...pathName,
  state: oneOf('active', 'potentially_failed', 'inactive', 'unconfirmed'),
  primary: flag,
  rtt_ms: nullable(amount),
  cwnd_bytes: nullable(count),
  flight_bytes: nullable(count),
  sent_packets: nullable(count),
  lost_packets: nullable(count),
  sent_bytes: nullable(count),
  delivered_bytes: nullable(count),
  link: nullable(link),
});

const tally = object({ messages: count, bytes: count });

const layerStats = object({
  id: text,
  sent: nullable(tally),
  in_time: tally,
  late: tally,
  retransmitted: nullable(tally),
  abandoned: nullable(object({ lifetime: tally, retransmissions: tally, before_sending: tally })),
});

const levelStats = object({
  waiting: count,
  dropped: count,
  wait_p50_ms: amount,
  wait_p99_ms: amount,
});

const stats = object({
  now_us: count,
  paths: array(pathStats, PATHS_MAX),
  layers: array(layerStats, LAYERS_MAX),
  levels: array(levelStats, LEVELS_MAX),
  frames: object({ shown: count, late: count, lost: count }),
  delay_ms: nullable(object({ now: amount, p50: amount, p95: amount })),
  buffer_ms: nullable(amount),
  latency_ms: amount,
  advised_latency_ms: nullable(amount),
});

export const event = object({
  id: count,
  at_us: count,
  severity: oneOf('info', 'good', 'warning', 'bad'),
  kind: text,
  path: nullable(count),
  text,
});

export const PRESETS = ['reliable', 'layered', 'live'] as const;

const reliability = either(
  oneOf('reliable'),
  either(object({ lifetime_ms: amount }), object({ max_retransmissions: count })),
);

const treatment = object({
  class: text,
  reliability,
  ordered: flag,
  priority: count,
  path: nullable(count),
});

const treatments = object({
  preset: nullable(oneOf(...PRESETS)),
  treatments: array(treatment, CLASSES_MAX),
});

/** What became of the channel that is watched. */
const tuned = object({
  number: count,
  state: oneOf('asked', 'on_air', 'off_air'),
  text: nullable(text),
});

const error = object({ request: nullable(text), text });
const reconnecting = object({ in_s: amount, why: text });
const finished = object({ text });
const ended = object({ text });

const messages = {
  hello: tagged('hello', hello),
  stats: tagged('stats', stats),
  event: tagged('event', event),
  treatments: tagged('treatments', treatments),
  channels: tagged('channels', object({ channels })),
  tuned: tagged('tuned', tuned),
  urgent: tagged('urgent', urgent),
  over: tagged('over', object({ id: count })),
  error: tagged('error', error),
  reconnecting: tagged('reconnecting', reconnecting),
  finished: tagged('finished', finished),
  ended: tagged('ended', ended),
};

export type Hello = Checked<typeof hello>;
export type Stats = Checked<typeof stats>;
export type PathStats = Checked<typeof pathStats>;
export type PathState = PathStats['state'];
export type LinkSettings = Checked<typeof link>;
export type LinkRanges = NonNullable<Hello['controls']['links']>;
export type LayerStats = Checked<typeof layerStats>;
export type LevelStats = Checked<typeof levelStats>;
export type Tally = Checked<typeof tally>;
export type ProgramEvent = Checked<typeof event>;
export type Severity = ProgramEvent['severity'];
export type Reliability = Checked<typeof reliability>;
export type Treatment = Checked<typeof treatment>;
export type Treatments = Checked<typeof treatments>;
export type TreatmentRanges = NonNullable<Hello['controls']['treatments']>;
export type Tuned = Checked<typeof tuned>;
export type Preset = (typeof PRESETS)[number];
export type VideoFormat = NonNullable<Hello['video']>;
export type AudioFormat = NonNullable<Hello['audio']>;
export type ProgramMessage = ReturnType<(typeof messages)[keyof typeof messages]>;

/** One of these messages, or `null` for another type; throws a {@link DecodeError}. */
export function decodeMessage<M extends Readonly<Record<string, (value: unknown) => unknown>>>(
  json: string,
  messages: M,
): ReturnType<M[keyof M]> | null {
  if (json.length > TEXT_MESSAGE_LIMIT) {
    throw new DecodeError(`a text message of ${json.length} characters is over the limit`);
  }
  const value = parse(json);
  const { type } = object({ type: text })(value, 'message');
  const check = Object.hasOwn(messages, type) ? messages[type] : undefined;
  return check === undefined ? null : (check(value) as ReturnType<M[keyof M]>);
}

export function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new DecodeError(`a text message is not JSON: ${json.slice(0, 40)}`);
  }
}

/** A message is its type and, checked, its fields. */
export function tagged<const K extends string, T>(
  kind: K,
  check: Check<T>,
): (value: unknown) => { readonly type: K; readonly body: T } {
  return (value) => ({ type: kind, body: check(value, kind) });
}
