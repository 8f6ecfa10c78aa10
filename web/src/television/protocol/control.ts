/** What the server tells the page as text: see docs/television.md. */

import { channels, programme, urgent } from '../../protocol/channel';
import {
  amount,
  type Checked,
  count,
  DecodeError,
  object,
  optional,
  text,
} from '../../protocol/checks';
import { parse, tagged } from '../../protocol/program';

export const PROTOCOL_VERSION = 2;

const TEXT_MESSAGE_LIMIT = 256 * 1024;

/**
 * Returns the message, or `null` for a type that this version does not know; throws a {@link
 * DecodeError}.
 */
export function decodeServerMessage(json: string): ServerMessage | null {
  if (json.length > TEXT_MESSAGE_LIMIT) {
    throw new DecodeError(`a text message of ${json.length} characters is over the limit`);
  }
  const value = parse(json);
  const { type } = object({ type: text })(value, 'message');
  return Object.hasOwn(messages, type) ? messages[type as keyof typeof messages](value) : null;
}

/** A format that this page does not know is told to the viewer in words. */
const video = object({
  codec: text,
  format: text,
  width: optional(count),
  height: optional(count),
  fps: optional(amount),
});

const audio = object({ codec: text, format: text, sample_rate: count, channels: count });

const messages = {
  welcome: tagged(
    'welcome',
    object({ protocol: count, program: text, latency_ms: amount, now_us: count, channels }),
  ),
  channels: tagged('channels', object({ channels })),
  guidance: tagged('guidance', object({ text })),
  error: tagged('error', object({ text })),
  bye: tagged('bye', object({ text })),
  urgent: tagged('urgent', urgent),
  over: tagged('over', object({ id: count })),
  description: tagged(
    'description',
    object({
      channel: count,
      session: count,
      video: optional(video),
      audio: optional(audio),
      bits_per_second: amount,
    }),
  ),
  off_air: tagged('off_air', object({ channel: count, text })),
  programme: tagged('programme', object({ channel: count, programme })),
  still: tagged(
    'still',
    object({ channel: count, session: count, frame: count, video: optional(video) }),
  ),
};

export type ServerMessage = ReturnType<(typeof messages)[keyof typeof messages]>;
export type BodyOf<K extends ServerMessage['type']> = Extract<ServerMessage, { type: K }>['body'];
export type Description = BodyOf<'description'>;
export type StillAnswer = BodyOf<'still'>;
export type VideoFormat = Checked<typeof video>;
export type AudioFormat = Checked<typeof audio>;

/** What the page tells the server. */
export type ViewerMessage =
  | {
      readonly type: 'hello';
      readonly protocol: number;
      readonly program: string;
      readonly token: string | null;
      readonly latency_ms: number;
    }
  | { readonly type: 'latency'; readonly latency_ms: number }
  | ({ readonly type: 'report' } & Report)
  | { readonly type: 'seen'; readonly id: number }
  | { readonly type: 'tune'; readonly channel: number }
  | { readonly type: 'stop' }
  | { readonly type: 'still'; readonly channel: number };

/** What is experienced, since the session began. */
export interface Report {
  readonly shown: number;
  readonly late: number;
  readonly lost: number;
  /** From the last key press to the first new picture. */
  readonly zap_ms: number | null;
}
