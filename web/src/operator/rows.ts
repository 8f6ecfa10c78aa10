/** Viewers as the operator's table shows them. */

import { CounterWindow } from '../state/counter-window';
import type { Viewer, ViewerPath } from './answers';

const RATE_WINDOW_S = 3;
const LOSS_WINDOW_S = 10;

export interface Row {
  readonly id: string;
  /** The name in its token, or the number that the server gave it. */
  readonly who: string;
  readonly program: string;
  readonly carrier: Viewer['carrier'];
  readonly sinceMs: number;
  readonly channel: number | null;
  readonly kbps: number | null;
  /** Of its fastest path. */
  readonly roundTripMs: number | null;
  /** Of the last seconds, over all its paths. */
  readonly lossPercent: number | null;
  readonly zaps: number;
  readonly zapMs: number | null;
  readonly shown: number;
  /** Pictures that came late or never. */
  readonly missed: number;
  /** What it does without, because its network takes too little. */
  readonly reduction: string | null;
  readonly paths: readonly PathRow[];
}

export interface PathRow {
  readonly local: string;
  readonly remote: string;
  readonly roundTripMs: number | null;
  /** Of the last seconds. */
  readonly lossPercent: number | null;
}

export const COLUMNS = {
  who: 'Viewer',
  channel: 'Channel',
  kbps: 'Rate',
  roundTripMs: 'Round trip',
  lossPercent: 'Loss',
  zaps: 'Zaps',
  missed: 'Missed',
  sinceMs: 'Here for',
} as const;

export type Column = keyof typeof COLUMNS;

/** What a heading leaves open. */
export const HINTS: { readonly [column in Column]?: string } = {
  kbps: `of the last ${RATE_WINDOW_S} seconds`,
  lossPercent: `of the last ${LOSS_WINDOW_S} seconds`,
};

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

/** Makes rows, with rates and losses from counters that only grow. */
export class Rows {
  #meters = new Map<string, Meter>();

  update(viewers: readonly Viewer[], nowMs: number): readonly Row[] {
    const meters = new Map<string, Meter>();
    const rows = viewers.map((viewer) => {
      const meter = this.#meters.get(viewer.id) ?? new Meter();
      meters.set(viewer.id, meter);
      return meter.read(viewer, nowMs / 1000);
    });
    this.#meters = meters;
    return rows;
  }
}

/** The counters of one viewer. */
class Meter {
  readonly #rate = new CounterWindow(RATE_WINDOW_S);
  readonly #loss = new CounterWindow(LOSS_WINDOW_S);
  #paths = new Map<string, CounterWindow>();

  read(viewer: Viewer, nowS: number): Row {
    this.#rate.push(nowS, [sum(viewer.paths.map(({ sent_bytes }) => sent_bytes))]);
    this.#loss.push(nowS, [
      sum(viewer.paths.map(({ sent_chunks }) => sent_chunks)),
      sum(viewer.paths.map(({ lost_chunks }) => lost_chunks)),
    ]);
    const known = this.#paths;
    this.#paths = new Map();
    const paths = viewer.paths.map((path) => {
      const key = `${path.local} ${path.remote}`;
      const window = known.get(key) ?? new CounterWindow(LOSS_WINDOW_S);
      this.#paths.set(key, window);
      window.push(nowS, [path.sent_chunks, path.lost_chunks]);
      return pathRow(path, lossPercent(window));
    });
    return row(viewer, paths, this.#rate.perSecond(0), lossPercent(this.#loss));
  }
}

/** The rows that have all the words, in this order; equal ones stay as they came. */
export function arranged(rows: readonly Row[], search: string, order: Order): readonly Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter(({ who, program, carrier, channel, paths }) => {
    const addresses = paths.map(({ remote }) => remote);
    const text = [who, program, carrier, channel, ...addresses].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const sign = order.descending ? -1 : 1;
  return found.sort((one, other) => sign * compare(one[order.column], other[order.column]));
}

/** The other way round, or by another column: figures with the largest first. */
export function reordered(order: Order, column: Column): Order {
  const isNumber = column !== 'who' && column !== 'channel';
  const descending = column === order.column ? !order.descending : isNumber;
  return { column, descending };
}

/** The middle one of those that are known. */
export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).sort((one, other) => one - other);
  return known[Math.floor((known.length - 1) / 2)] ?? null;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function row(
  viewer: Viewer,
  paths: readonly PathRow[],
  bytesPerSecond: number | null,
  loss: number | null,
): Row {
  const { id, name, program, carrier, since_ms, channel, zaps, zap_ms, shown, late, lost } = viewer;
  const { reduction } = viewer;
  const roundTrips = paths.map(({ roundTripMs }) => roundTripMs).filter((rtt) => rtt !== null);
  return {
    id,
    who: name ?? id.charAt(0).toUpperCase() + id.slice(1),
    program,
    carrier,
    sinceMs: since_ms,
    channel,
    kbps: bytesPerSecond === null ? null : (bytesPerSecond * 8) / 1000,
    roundTripMs: roundTrips.length === 0 ? null : Math.min(...roundTrips),
    lossPercent: loss,
    zaps,
    zapMs: zap_ms,
    shown,
    missed: late + lost,
    reduction,
    paths,
  };
}

function pathRow({ local, remote, rtt_ms }: ViewerPath, loss: number | null): PathRow {
  return { local, remote, roundTripMs: rtt_ms, lossPercent: loss };
}

/** Of a window of chunks that were sent and lost. What is lost now was sent a while ago. */
function lossPercent(window: CounterWindow): number | null {
  const [sent, lost] = [window.growth(0), window.growth(1)];
  return sent === null || lost === null || sent === 0 ? null : Math.min(100, (100 * lost) / sent);
}

/** What is unknown comes first. */
function compare(one: string | number | null, other: string | number | null): number {
  if (typeof one === 'string' && typeof other === 'string') {
    return one.localeCompare(other, 'en', { numeric: true });
  }
  return (Number(one ?? -1) || 0) - (Number(other ?? -1) || 0);
}
