/** Numbers as text: always three digits that count, so that nothing jumps. */

export interface Quantity {
  readonly value: string;
  readonly unit: string;
}

const UNKNOWN = "–";

export function rate(kbps: number | null): Quantity {
  if (kbps === null) {
    return { value: UNKNOWN, unit: "kbit/s" };
  }
  return kbps >= 999.5
    ? { value: digits(kbps / 1000), unit: "Mbit/s" }
    : { value: kbps.toFixed(0), unit: "kbit/s" };
}

export function milliseconds(ms: number | null): Quantity {
  return { value: ms === null ? UNKNOWN : ms >= 99.95 ? ms.toFixed(0) : ms.toFixed(1), unit: "ms" };
}

export function bytes(count: number | null): Quantity {
  if (count === null) {
    return { value: UNKNOWN, unit: "kB" };
  }
  return count >= 999_500
    ? { value: digits(count / 1e6), unit: "MB" }
    : { value: digits(count / 1000), unit: "kB" };
}

export function percent(share: number | null): Quantity {
  return {
    value: share === null ? UNKNOWN : share >= 9.95 ? share.toFixed(0) : share.toFixed(1),
    unit: "%",
  };
}

export function whole(count: number | null): string {
  return count === null ? UNKNOWN : groups(count);
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
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function digits(value: number): string {
  if (value >= 99.95) {
    return value.toFixed(0);
  }
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** Thin spaces between thousands. */
function groups(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}
