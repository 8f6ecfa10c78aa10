/** What the page of a call asks of its agent, or tells it: see docs/call.md. */

import type { ExchangeRequest } from '../../exchange/protocol';
import type { CallVideo, Device, PathUse, Voice } from './agent';

/** How networks are to be used. */
export type NetworkRequest =
  | { readonly type: 'path_use'; readonly path: number; readonly use: PathUse }
  | { readonly type: 'primary'; readonly path: number }
  | { readonly type: 'leave'; readonly path: number }
  | { readonly type: 'voice_twice'; readonly on: boolean };

export type CallRequest =
  | NetworkRequest
  | ExchangeRequest
  | {
      readonly type: 'devices';
      readonly microphone: Device;
      readonly camera: Device;
      readonly text: string | null;
    }
  | { readonly type: 'sending'; readonly voice: Voice | null; readonly video: CallVideo | null }
  | { readonly type: 'want_key' }
  | { readonly type: 'hang_up' }
  | ({ readonly type: 'page_stats' } & CallPageStats);

export interface CallPageStats {
  readonly heard: number;
  readonly concealed: number;
  readonly shown: number;
  readonly decode_errors: number;
  readonly encoder_queue: number;
  readonly av_skew_ms: number | null;
}
