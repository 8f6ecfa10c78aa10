/**
 * What the page knows of one layer: the last statistics, rates from them, and the last half
 * minute.
 */

import type { LayerStats, Tally } from '../protocol/program';
import { CounterWindow } from './counter-window';
import { Timeline } from './timeline';

/** A group of pictures, so that its key frame does not show as a peak. */
const RATE_SPAN_S = 1;

/** What is counted of a layer, in the order of the timeline's columns. */
export const LAYER_MEASURES = [
  'sent',
  'in_time',
  'late',
  'retransmitted',
  'lifetime',
  'retransmissions',
  'before_sending',
] as const;

export type LayerMeasure = (typeof LAYER_MEASURES)[number];

export interface Measured {
  /** Since the stream began; `null`: not known here. */
  readonly total: Tally | null;
  readonly kbps: number | null;
}

export type LayerView = Readonly<Record<LayerMeasure, Measured>>;

export class LayerHistory {
  readonly timeline = new Timeline(LAYER_MEASURES.length);
  readonly #rates = new CounterWindow(RATE_SPAN_S);

  push(atS: number, layer: LayerStats): LayerView {
    const totals = LAYER_MEASURES.map((measure) => total(layer, measure));
    this.#rates.push(
      atS,
      totals.map((tally) => tally?.bytes ?? null),
    );
    const rates = totals.map((_, index) => {
      const bytesPerS = this.#rates.perSecond(index);
      return bytesPerS === null ? null : (bytesPerS * 8) / 1000;
    });
    this.timeline.push(atS, rates);
    return Object.fromEntries(
      LAYER_MEASURES.map((measure, index) => [
        measure,
        { total: totals[index] ?? null, kbps: rates[index] ?? null },
      ]),
    ) as LayerView;
  }
}

function total(layer: LayerStats, measure: LayerMeasure): Tally | null {
  switch (measure) {
    case 'sent':
    case 'in_time':
    case 'late':
    case 'retransmitted':
      return layer[measure];
    default:
      return layer.abandoned?.[measure] ?? null;
  }
}
