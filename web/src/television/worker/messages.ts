/** What passes between the television page's main thread and its worker. */

import type { ToOutput } from '../../audio/messages';
import type { Channel, Programme, Urgent } from '../../protocol/channel';
import type { Bridged, Sendable } from '../../rtc/link';
import type { OutputReport } from '../../worker/messages';
import type { Description } from '../protocol/control';

export type ToPlayer =
  | { readonly kind: 'start'; readonly canvas: OffscreenCanvas }
  | {
      readonly kind: 'connect';
      readonly attempt: number;
      /** The data channels by their ids, or null where only the main thread can hold them. */
      readonly channels: readonly RTCDataChannel[] | null;
      readonly token: string | null;
      readonly latencyMs: number;
    }
  | Bridged
  | { readonly kind: 'disconnect' }
  /** `pressedMs`: when the viewer asked for it; null if nobody did just now. */
  | { readonly kind: 'tune'; readonly channel: number; readonly pressedMs: number | null }
  | { readonly kind: 'stop' }
  | { readonly kind: 'latency'; readonly latencyMs: number }
  | { readonly kind: 'seen'; readonly id: number }
  | { readonly kind: 'still'; readonly channel: number }
  | ToOutput;

export type FromPlayer =
  | { readonly kind: 'welcome'; readonly program: string; readonly channels: readonly Channel[] }
  | { readonly kind: 'channels'; readonly channels: readonly Channel[] }
  | { readonly kind: 'description'; readonly description: Description }
  | { readonly kind: 'off_air'; readonly channel: number; readonly text: string }
  | { readonly kind: 'programme'; readonly channel: number; readonly programme: Programme }
  | { readonly kind: 'urgent'; readonly urgent: Urgent }
  | { readonly kind: 'over'; readonly id: number }
  | { readonly kind: 'words'; readonly of: 'guidance' | 'error'; readonly text: string }
  /** The connection is of no use any more; with the server's last words, if it had any. */
  | { readonly kind: 'lost'; readonly attempt: number; readonly text: string | null }
  /** To be sent on a data channel that the main thread holds. */
  | { readonly kind: 'say'; readonly stream: number; readonly data: Sendable }
  /** The first picture, or the first sound, of a channel is there, since `atMs`. */
  | {
      readonly kind: 'first';
      readonly channel: number;
      readonly atMs: number;
      readonly zapMs: number | null;
    }
  | { readonly kind: 'thumbnail'; readonly channel: number; readonly picture: ImageBitmap }
  /** What was asked for is there, or will not be: null. */
  | { readonly kind: 'still'; readonly channel: number; readonly picture: ImageBitmap | null }
  | { readonly kind: 'screen'; readonly report: PlayerReport }
  /** What this browser cannot do with the channel, as a whole sentence. */
  | { readonly kind: 'obstacle'; readonly text: string }
  | { readonly kind: 'problem'; readonly text: string };

/** Four times a second. */
export interface PlayerReport extends OutputReport {
  readonly late: number;
  readonly lost: number;
  /** From the server's hand to the screen. */
  readonly behindMs: number | null;
  readonly speed: number;
  readonly zapMs: number | null;
}
