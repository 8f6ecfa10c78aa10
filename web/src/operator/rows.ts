/** Viewers as the operator's table shows them. */

import { CounterWindow } from '../state/counter-window';
import type { Viewer, ViewerPath } from './answers';

const RATE_WINDOW_S = 3;

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
  /** In per cent, over all its paths. */
  readonly lossPercent: number | null;
  readonly zaps: number;
  readonly zapMs: number | null;
  readonly shown: number;
  /** Pictures that came late or never. */
  readonly missed: number;
  readonly paths: readonly ViewerPath[];
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

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

/** Makes rows, with rates from counters that only grow. */
export class Rows {
  #windows = new Map<string, CounterWindow>();

  update(viewers: readonly Viewer[], nowMs: number): readonly Row[] {
    const windows = new Map<string, CounterWindow>();
    const rows = viewers.map((viewer) => {
      const window = this.#windows.get(viewer.id) ?? new CounterWindow(RATE_WINDOW_S);
      windows.set(viewer.id, window);
      window.push(nowMs / 1000, [sum(viewer.paths.map(({ sent_bytes }) => sent_bytes))]);
      return row(viewer, window.perSecond(0));
    });
    this.#windows = windows;
    return rows;
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

function row(viewer: Viewer, bytesPerSecond: number | null): Row {
  const { id, name, program, carrier, since_ms, channel, zaps, zap_ms, shown, late, lost } = viewer;
  const { paths } = viewer;
  const roundTrips = paths.map(({ rtt_ms }) => rtt_ms).filter((rtt) => rtt !== null);
  return {
    id,
    who: name ?? id.charAt(0).toUpperCase() + id.slice(1),
    program,
    carrier,
    sinceMs: since_ms,
    channel,
    kbps: bytesPerSecond === null ? null : (bytesPerSecond * 8) / 1000,
    roundTripMs: roundTrips.length === 0 ? null : Math.min(...roundTrips),
    lossPercent: lossPercent(paths),
    zaps,
    zapMs: zap_ms,
    shown,
    missed: late + lost,
    paths,
  };
}

/** Each path counts as much as it carried. */
function lossPercent(paths: readonly ViewerPath[]): number | null {
  const known = paths.filter(({ loss }) => loss !== null);
  const sent = sum(known.map(({ sent_bytes }) => sent_bytes));
  const lost = sum(known.map(({ loss, sent_bytes }) => (loss ?? 0) * sent_bytes));
  return sent === 0 ? null : (100 * lost) / sent;
}

/** What is unknown comes first. */
function compare(one: string | number | null, other: string | number | null): number {
  if (typeof one === 'string' && typeof other === 'string') {
    return one.localeCompare(other, 'en', { numeric: true });
  }
  return (Number(one ?? -1) || 0) - (Number(other ?? -1) || 0);
}
