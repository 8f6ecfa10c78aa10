/** What passes between the page's main thread, its sound output and who decodes for both. */

import type { OutputTime } from './output-clock';
import type { SoundBlock } from './sound-queue';

/** What a worker's output is told, whatever it plays. */
export type ToOutput =
  /** The port of the sound output, or null to stop decoding sound. */
  | { readonly kind: 'sound'; readonly port: MessagePort | null }
  | { readonly kind: 'skew'; readonly skewMs: number | null };

export type ToSpeaker =
  | ({ readonly kind: 'block' } & SoundBlock)
  | { readonly kind: 'clear' }
  | ({ readonly kind: 'clock' } & OutputTime);

export interface FromSpeaker {
  readonly skewMs: number | null;
}
