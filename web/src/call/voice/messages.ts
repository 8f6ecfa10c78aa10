/** What passes between the worklets of a call, its worker and its main thread. */

import type { OutputTime } from '../../audio/output-clock';
import type { VoiceFrame } from './voice-queue';

/** To the worklet that plays. */
export type ToVoicePlayer =
  | ({ readonly kind: 'frame' } & VoiceFrame)
  | { readonly kind: 'clear' }
  /** Nothing is to be heard any more. */
  | { readonly kind: 'end' }
  | ({ readonly kind: 'clock' } & OutputTime);

/** Of the worklet that plays, ten times a second. */
export interface VoiceReport {
  readonly level: number;
  readonly heard: number;
  readonly concealed: number;
  readonly late: number;
  readonly moves: number;
  readonly skewMs: number | null;
}

/** Of the worklet of the microphone, ten times a second. */
export interface MicrophoneReport {
  readonly level: number;
}

/** To the worker: 20 ms of the microphone. */
export interface MicrophoneFrame {
  /** When its last sample came, on the clock of the sound card. */
  readonly endUs: number;
  readonly samples: Float32Array;
}
