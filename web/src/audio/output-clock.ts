/** What a sound output's clock says of ours. */

import { nowMs } from '../media/now';

/** At `contextS` of the audio context, the sample that reaches the ear is that of `epochMs`. */
export interface OutputTime {
  readonly contextS: number;
  readonly epochMs: number;
}

export function outputTime(context: AudioContext): OutputTime {
  const { contextTime, performanceTime } = context.getOutputTimestamp();
  // Before the first sample has come out, a browser reports zeros.
  const known = contextTime !== undefined && performanceTime !== undefined && contextTime > 0;
  return known
    ? { contextS: contextTime, epochMs: performance.timeOrigin + performanceTime }
    : { contextS: context.currentTime, epochMs: nowMs() };
}
