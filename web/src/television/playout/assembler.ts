/** Media messages, in any order, to whole units. */

import type { MediaHeader, MediaMessage } from '../protocol/media';

/** Units of which some parts came. Beyond it the oldest is given up. */
export const OPEN_MAX = 512;
/** Bytes of those, and of whole units that wait for their description. */
const BYTES_MAX = 32 * 1024 * 1024;
/** A unit so many frames behind a whole one of its kind never becomes whole. */
const FRAMES_BEHIND_MAX = 500;
const EPOCHS = 0x1_0000;

/** A layer of a picture, or a frame of sound, as it came from the source. */
export interface Unit {
  /** Of its last part. */
  readonly header: MediaHeader;
  readonly payload: Uint8Array;
}

interface Open {
  readonly header: MediaHeader;
  readonly parts: (Uint8Array | undefined)[];
  missing: number;
  bytes: number;
}

export class Assembler {
  /** The epoch whose description came; media may come before it. */
  #epoch: number | null = null;
  /** In the order in which their first parts came. */
  readonly #open = new Map<string, Open>();
  #early: Unit[] = [];
  #bytes = 0;
  /** Units of which some parts never came. */
  givenUp = 0;

  /** Forgets everything: another channel is watched. */
  clear(): void {
    this.#epoch = null;
    this.#open.clear();
    this.#early = [];
    this.#bytes = 0;
  }

  /** A description came: returns what waited for it; media of other epochs is void. */
  begin(epoch: number): Unit[] {
    this.#epoch = epoch;
    for (const [key, open] of this.#open) {
      if (open.header.epoch !== epoch) {
        this.#remove(key, open);
      }
    }
    const ready = this.#early.filter(({ header }) => header.epoch === epoch);
    this.#bytes -= this.#early.reduce((sum, { payload }) => sum + payload.length, 0);
    this.#early = [];
    return ready;
  }

  /** The unit that this part makes whole, once its description is known. */
  push({ header, payload }: MediaMessage): Unit | null {
    const isNext = this.#epoch !== null && header.epoch === (this.#epoch + 1) % EPOCHS;
    if (this.#epoch !== null && header.epoch !== this.#epoch && !isNext) {
      return null;
    }
    const key = keyOf(header, header.frame);
    const open = this.#open.get(key) ?? this.#begin(key, header);
    if (open.parts[header.fragment] !== undefined || header.fragments !== open.parts.length) {
      return null;
    }
    open.parts[header.fragment] = payload;
    open.bytes += payload.length;
    this.#bytes += payload.length;
    open.missing -= 1;
    const unit = open.missing === 0 ? this.#finish(key, header, open) : null;
    this.#trim();
    return unit;
  }

  #begin(key: string, header: MediaHeader): Open {
    const parts = new Array<Uint8Array | undefined>(header.fragments).fill(undefined);
    const open = { header, parts, missing: header.fragments, bytes: 0 };
    this.#open.set(key, open);
    return open;
  }

  #finish(key: string, header: MediaHeader, open: Open): Unit | null {
    this.#remove(key, open);
    this.#giveUpBehind(header);
    const unit = { header, payload: joined(open) };
    if (header.epoch === this.#epoch) {
      return unit;
    }
    this.#early.push(unit);
    this.#bytes += unit.payload.length;
    return null;
  }

  #giveUpBehind(whole: MediaHeader): void {
    for (const [key, open] of this.#open) {
      const { track, layer, epoch, frame } = open.header;
      const sameKind = track === whole.track && layer === whole.layer && epoch === whole.epoch;
      if (sameKind && frame + FRAMES_BEHIND_MAX < whole.frame) {
        this.#giveUp(key, open);
      }
    }
  }

  #trim(): void {
    while (this.#open.size > OPEN_MAX || this.#bytes > BYTES_MAX) {
      const [oldest] = this.#open;
      if (oldest !== undefined) {
        this.#giveUp(...oldest);
      } else {
        this.#bytes -= this.#early.shift()?.payload.length ?? 0;
      }
    }
  }

  #giveUp(key: string, open: Open): void {
    this.#remove(key, open);
    this.givenUp += 1;
  }

  #remove(key: string, open: Open): void {
    this.#open.delete(key);
    this.#bytes -= open.bytes;
  }
}

function keyOf({ epoch, track, layer }: MediaHeader, frame: number): string {
  return `${epoch} ${track} ${layer} ${frame}`;
}

function joined({ parts, bytes }: Open): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) {
    return only;
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part ?? [], at);
    at += part?.length ?? 0;
  }
  return whole;
}
