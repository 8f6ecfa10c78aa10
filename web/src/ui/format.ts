/** Numbers as text: always three digits that count, so that nothing jumps. */

export interface Quantity {
  readonly value: string;
  readonly unit: string;
}

const UNKNOWN: Quantity = { value: '–', unit: '' };

export function rate(kbps: number | null): Quantity {
  if (kbps === null) {
    return UNKNOWN;
  }
  return kbps >= 999.5
    ? { value: digits(kbps / 1000), unit: 'Mbit/s' }
    : { value: kbps.toFixed(0), unit: 'kbit/s' };
}

export function milliseconds(ms: number | null): Quantity {
  return ms === null ? UNKNOWN : { value: ms.toFixed(ms >= 99.95 ? 0 : 1), unit: 'ms' };
}

/** Behind (positive) or ahead of something. */
export function signedMilliseconds(ms: number | null): Quantity {
  if (ms === null) {
    return UNKNOWN;
  }
  const { value, unit } = milliseconds(Math.abs(ms));
  return { value: `${ms < 0 ? '−' : '+'}${value}`, unit };
}

export function bytes(count: number | null): Quantity {
  if (count === null) {
    return UNKNOWN;
  }
  return count >= 999_500
    ? { value: digits(count / 1e6), unit: 'MB' }
    : { value: digits(count / 1000), unit: 'kB' };
}

export function percent(share: number | null): Quantity {
  return share === null ? UNKNOWN : { value: share.toFixed(share >= 9.95 ? 0 : 1), unit: '%' };
}

export function whole(count: number | null): string {
  return count === null ? UNKNOWN.value : groups(count);
}

/** As one text, for labels. */
export function words({ value, unit }: Quantity): string {
  return `${value} ${unit}`;
}

/** A setting as it was chosen, without digits that were not. */
export function plain(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** `m:ss` */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** At the side of a graph: short, and a bare zero. */
export function axisNumber(value: number, unit: string): string {
  return value === 0 ? '0' : `${Number(value.toPrecision(2))} ${unit}`;
}

export function axisRate(kbps: number): string {
  return kbps >= 1000 ? axisNumber(kbps / 1000, 'M') : axisNumber(kbps, 'k');
}

export function axisBytes(count: number): string {
  return count >= 1e6 ? axisNumber(count / 1e6, 'MB') : axisNumber(count / 1000, 'kB');
}

function digits(value: number): string {
  if (value >= 99.95) {
    return value.toFixed(0);
  }
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** Thin spaces between thousands. */
function groups(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}
