/**
 * Pictures of one member: whole ones in as they come, out in decoding order. The rules are those of
 * `crates/call/src/playout/pictures.rs`, where they are explained; times are whole microseconds.
 */

import type { MediaMessage } from '../../television/protocol/media';
import type { Local } from './voice';

/** How long after its time a picture is waited for that others need. */
const PATIENCE_US = 600_000;
/** How long it is until a key picture is asked for instead. */
const ASK_AFTER_US = 250_000;
/** How often it is asked for. */
const ASK_EVERY_US = 300_000;
const OPEN_MAX = 64;
const BYTES_MAX = 8 << 20;

type Kind = 'key' | 'reference' | 'disposable';

/** A picture that is to be seen. */
export interface SeenPicture {
  readonly playAtUs: number;
  readonly capturedUs: number;
  readonly frame: number;
  readonly kind: Kind;
  /** Pictures before it are missing that it may refer to. */
  readonly discontinuity: boolean;
  readonly payload: Uint8Array;
}

/** A picture of which something came. */
interface Open {
  readonly capturedUs: number;
  readonly kind: Kind;
  readonly references: number;
  readonly parts: Map<number, Uint8Array>;
  /** How many parts there are, once the last one came. */
  count: number | null;
  bytes: number;
}

export class PicturePlayout {
  shown = 0;
  lost = 0;
  readonly #open = new Map<number, Open>();
  #bytes = 0;
  /** Behind the last picture that was handed on: its number, and how many references came. */
  #after: { readonly frame: number; readonly references: number } | null = null;
  /** Only a key picture helps. */
  #isBroken = false;
  #askedUs: number | null = null;
  #wantsKey = false;

  /** The sender's clock or its numbers began anew. */
  restart(): void {
    this.#open.clear();
    this.#bytes = 0;
    this.#after = null;
    this.#isBroken = false;
    this.#askedUs = null;
    this.#wantsKey = false;
  }

  /** The decoder lost track, whatever came. */
  breakOff(): void {
    this.#isBroken = true;
    this.#wantsKey = true;
  }

  /** Whether a key picture is to be asked for. Said once each time. */
  takeKeyWanted(nowUs: number): boolean {
    const isDue = this.#askedUs === null || nowUs - this.#askedUs >= ASK_EVERY_US;
    if (!this.#wantsKey || !isDue) {
      return false;
    }
    this.#askedUs = nowUs;
    return true;
  }

  /** A part of a picture came. */
  push({ header, payload }: MediaMessage): void {
    if (this.#after !== null && header.frame < this.#after.frame) {
      return;
    }
    const open = this.#open.get(header.frame) ?? {
      capturedUs: header.atUs,
      kind: kindOf(header),
      references: header.references,
      parts: new Map(),
      count: null,
      bytes: 0,
    };
    this.#open.set(header.frame, open);
    open.count = header.last ? header.index + 1 : open.count;
    const before = open.parts.get(header.index)?.length ?? 0;
    open.parts.set(header.index, payload);
    open.bytes += payload.length - before;
    this.#bytes += payload.length - before;
    while (this.#open.size > OPEN_MAX || this.#bytes > BYTES_MAX) {
      this.#giveUpFirst();
    }
  }

  /** The next picture that can be decoded, if its time has come; voice waits so long. */
  poll(nowUs: number, delayUs: number, local: Local): SeenPicture | null {
    for (let first = this.#first(); first !== null; first = this.#first()) {
      const [frame, open] = first;
      const dueUs = local(open.capturedUs) + delayUs;
      const isReady = isWhole(open) && this.#fit(frame, open) === 'fits';
      if (dueUs > nowUs) {
        return null;
      }
      if (isReady) {
        return this.#show(frame, open, nowUs);
      }
      if (!this.#passOver(frame, open, nowUs - dueUs)) {
        return null;
      }
    }
    return null;
  }

  /** Goes on behind a picture that cannot be shown; false if it is worth to wait for. */
  #passOver(frame: number, open: Open, overdueUs: number): boolean {
    const key = this.#wholeKeyBehind(frame);
    if (key !== null) {
      this.#skipTo(key);
      return true;
    }
    const isHopeless = this.#fit(frame, open) === 'useless';
    if (!isHopeless && overdueUs < this.#patienceUs(frame, open)) {
      this.#wantsKey ||= overdueUs >= ASK_AFTER_US;
      return false;
    }
    this.#giveUpFirst();
    return true;
  }

  #first(): readonly [number, Open] | null {
    const frame = Math.min(...this.#open.keys());
    const open = this.#open.get(frame);
    return open === undefined ? null : [frame, open];
  }

  /** How long a picture is waited for beyond its time. */
  #patienceUs(frame: number, { kind }: Open): number {
    const blocks = [...this.#open.keys()].some((other) => other > frame);
    // What nothing needs holds up nothing: it is waited for until the next one is there.
    return blocks && kind === 'disposable' ? 0 : PATIENCE_US;
  }

  /** Whether a picture can be decoded now. */
  #fit(frame: number, { kind, references }: Open): 'fits' | 'lacks' | 'useless' {
    if (kind === 'key') {
      return 'fits';
    }
    if (this.#isBroken || this.#after === null) {
      return 'useless';
    }
    const isNext = this.#after.frame === frame || this.#after.references === references;
    return isNext ? 'fits' : 'lacks';
  }

  #wholeKeyBehind(frame: number): number | null {
    const keys = [...this.#open].filter(
      ([other, open]) => other > frame && open.kind === 'key' && isWhole(open),
    );
    return keys.length === 0 ? null : Math.min(...keys.map(([other]) => other));
  }

  #skipTo(key: number): void {
    for (const [frame, open] of this.#open) {
      if (frame < key) {
        this.#remove(frame, open);
      }
    }
  }

  #show(frame: number, open: Open, playAtUs: number): SeenPicture {
    this.#remove(frame, open);
    const isGap = this.#after !== null && this.#after.frame !== frame;
    const discontinuity = isGap || this.#isBroken;
    this.lost += Math.max(0, frame - (this.#after?.frame ?? frame));
    this.shown += 1;
    const { kind, capturedUs, references } = open;
    const counted = references === 0 || kind === 'disposable' ? references : references + 1;
    this.#after = { frame: frame + 1, references: counted };
    if (kind === 'key') {
      this.#isBroken = false;
      this.#wantsKey = false;
    }
    return { playAtUs, capturedUs, frame, kind, discontinuity, payload: joined(open) };
  }

  /** The first picture does not come any more, or is of no use. */
  #giveUpFirst(): void {
    const first = this.#first();
    if (first === null) {
      return;
    }
    this.#remove(...first);
    if (first[1].kind !== 'disposable') {
      this.breakOff();
    }
  }

  #remove(frame: number, { bytes }: Open): void {
    this.#open.delete(frame);
    this.#bytes -= bytes;
  }
}

function kindOf({ key, reference }: MediaMessage['header']): Kind {
  return key ? 'key' : reference ? 'reference' : 'disposable';
}

function isWhole({ count, parts }: Open): boolean {
  return parts.size === count;
}

function joined({ parts, bytes }: Open): Uint8Array {
  const [only] = parts.values();
  if (parts.size === 1 && only !== undefined) {
    return only;
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (let index = 0; index < parts.size; index++) {
    const part = parts.get(index) ?? new Uint8Array();
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
