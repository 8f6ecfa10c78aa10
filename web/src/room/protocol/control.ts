/** What a room says as text, and what its members do: see docs/meet.md. */

import { media, paths } from '../../call/protocol/agent';
import { type ExchangeRequest, exchangeMessages, file, line } from '../../exchange/protocol';
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
} from '../../protocol/checks';
import { decodeMessage, tagged } from '../../protocol/program';

export const PROTOCOL_VERSION = 1;

const MEMBERS_MAX = 64;
const TEXTS_MAX = 1_000;
const FILES_MAX = 1_000;

const member = object({ number: count, name: text, role: text, media, away: flag });

const listeners = object({ is: text, text });

const welcome = object({
  protocol: count,
  program: text,
  room: object({ name: text, title: text }),
  you: count,
  role: text,
  locked: flag,
  resume: text,
  now_us: count,
  members: array(member, MEMBERS_MAX),
  texts: array(line, TEXTS_MAX),
  files: array(file, FILES_MAX),
  listeners,
});

const encode = object({ video_bps: count, voice_bps: count, why: text });

/** Of the agent on this machine, where there is one. */
const networks = object({
  paths,
  twice: flag,
  direct: flag,
  carries_kbps: nullable(amount),
  left_out: count,
});
const networkEvent = object({ severity: oneOf('info', 'good', 'warning', 'bad'), text });

const messages = {
  welcome: tagged('welcome', welcome),
  joined: tagged('joined', object({ member })),
  away: tagged('away', object({ member: count })),
  back: tagged('back', object({ member: count })),
  left: tagged('left', object({ member: count, text })),
  media: tagged('media', object({ member: count, media, voice_frames: count })),
  want_key: tagged('want_key', object({})),
  encode: tagged('encode', encode),
  ...exchangeMessages,
  locked: tagged('locked', object({ locked: flag, text })),
  knocked: tagged('knocked', object({ name: text })),
  beat: tagged('beat', object({})),
  bye: tagged('bye', object({ reason: text, text })),
  listeners: tagged('listeners', listeners),
  networks: tagged('networks', networks),
  network_event: tagged('network_event', networkEvent),
};

export type Networks = Checked<typeof networks>;
export type Welcome = Checked<typeof welcome>;
export type MemberEntry = Checked<typeof member>;
export type RoomMessage = ReturnType<(typeof messages)[keyof typeof messages]>;
export type Media = Checked<typeof media>;

/** What a member says. */
export type MemberMessage =
  | {
      readonly type: 'hello';
      readonly protocol: number;
      readonly program: string;
      readonly name: string;
      readonly media: Media;
      readonly resume: string | null;
    }
  | { readonly type: 'media'; readonly media: Media; readonly voice_frames: number }
  | { readonly type: 'want_key'; readonly member: number }
  | ExchangeRequest
  | { readonly type: 'lock'; readonly locked: boolean }
  | { readonly type: 'remove'; readonly member: number }
  | { readonly type: 'bye' };

/** The role of who may lock the room and remove others. */
export const HOST = 'host';

/** Reasons after which there is no use in coming back. */
export const FINAL_REASONS: readonly string[] = [
  'version',
  'full',
  'locked',
  'removed',
  'elsewhere',
  'closed',
  'token',
];

/**
 * Returns the message, or `null` for a type that this version does not know; throws a
 * `DecodeError`.
 */
export function decodeRoomMessage(json: string): RoomMessage | null {
  return decodeMessage(json, messages);
}
