/**
 * What the page knows of one path: the last statistics, rates from them, and the last half minute.
 */

import type { PathStats } from '../protocol/program';
import { CounterWindow } from './counter-window';
import { Timeline } from './timeline';

const RATE_SPAN_S = 0.8;
const LOSS_SPAN_S = 3;

export interface PathView extends PathStats {
  readonly sentKbps: number | null;
  readonly deliveredKbps: number | null;
  /** Share of the packets of the last 3 s that were lost. */
  readonly lossPercent: number | null;
}

/** Columns of {@link PathHistory.timeline}. */
export const PATH_COLUMN = {
  sentKbps: 0,
  deliveredKbps: 1,
  linkKbps: 2,
  rttMs: 3,
  lossPercent: 4,
  cwndBytes: 5,
  flightBytes: 6,
  cut: 7,
} as const;

export class PathHistory {
  readonly timeline = new Timeline(Object.keys(PATH_COLUMN).length);
  readonly #rates = new CounterWindow(RATE_SPAN_S);
  readonly #losses = new CounterWindow(LOSS_SPAN_S);

  push(atS: number, path: PathStats): PathView {
    this.#rates.push(atS, [path.sent_bytes, path.delivered_bytes]);
    this.#losses.push(atS, [path.sent_packets, path.lost_packets]);
    const view: PathView = {
      ...path,
      sentKbps: kbps(this.#rates.perSecond(0)),
      deliveredKbps: kbps(this.#rates.perSecond(1)),
      lossPercent: share(this.#losses.growth(1), this.#losses.growth(0)),
    };
    this.timeline.push(atS, [
      view.sentKbps,
      view.deliveredKbps,
      path.link?.rate_kbps ?? null,
      path.rtt_ms,
      view.lossPercent,
      path.cwnd_bytes,
      path.flight_bytes,
      path.link?.cut ? 1 : 0,
    ]);
    return view;
  }
}

function kbps(bytesPerS: number | null): number | null {
  return bytesPerS === null ? null : (bytesPerS * 8) / 1000;
}

function share(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole === 0
    ? null
    : Math.min(100, (100 * part) / whole);
}
