/** What the page asks of the program, or tells it: see docs/page-protocol.md. */

import type { LinkSettings, Preset, Treatment } from './program';

export type PageRequest =
  | ({ readonly type: 'set_link'; readonly path: number } & LinkSettings)
  | ({ readonly type: 'set_treatment' } & Treatment)
  | { readonly type: 'preset'; readonly preset: Preset }
  | { readonly type: 'set_latency'; readonly latency_ms: number }
  | { readonly type: 'choose'; readonly number: number }
  | { readonly type: 'seen'; readonly id: number }
  | { readonly type: 'restart' }
  | ({ readonly type: 'page_stats' } & PageStats);

/** What was really decoded and displayed since the last `hello`. */
export interface PageStats {
  readonly decoded: number;
  readonly displayed: number;
  readonly dropped: number;
  readonly decode_errors: number;
  readonly audio_decoded: number;
  readonly longest_gap_ms: number | null;
  readonly av_skew_ms: number | null;
}
