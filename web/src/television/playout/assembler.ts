/** Media messages, in any order, to whole units. */

import type { MediaHeader, MediaMessage } from '../protocol/media';

/** Units of which some parts came. Beyond it the oldest is given up. */
export const OPEN_MAX = 512;
/** Bytes of those, and of whole units that wait for their description. */
const BYTES_MAX = 32 * 1024 * 1024;
/** A unit so many frames behind a whole one of its kind never becomes whole. */
const FRAMES_BEHIND_MAX = 500;
const SESSIONS = 0x1_0000;

/** A layer of a picture, or a frame of sound, as it came from the source. */
export interface Unit {
  /** Of its last part. */
  readonly header: MediaHeader;
  readonly payload: Uint8Array;
}

interface Open {
  readonly header: MediaHeader;
  readonly parts: Map<number, Uint8Array>;
  /** How many there are, once the last one came. */
  of: number | null;
  bytes: number;
}

export class Assembler {
  /** The session whose description came; media may come before it. */
  #session: number | null = null;
  /** In the order in which their first parts came. */
  readonly #open = new Map<string, Open>();
  #early: Unit[] = [];
  #bytes = 0;
  /** Units of which some parts never came. */
  givenUp = 0;

  /** Forgets everything: another channel is watched. */
  clear(): void {
    this.#session = null;
    this.#open.clear();
    this.#early = [];
    this.#bytes = 0;
  }

  /** A description came: returns what waited for it; media of others is void. */
  begin(session: number): Unit[] {
    this.#session = session;
    for (const [key, open] of this.#open) {
      if (open.header.session !== session) {
        this.#remove(key, open);
      }
    }
    const ready = this.#early.filter(({ header }) => header.session === session);
    this.#bytes -= this.#early.reduce((sum, { payload }) => sum + payload.length, 0);
    this.#early = [];
    return ready;
  }

  /** The unit that this part makes whole, once its description is known. */
  push({ header, payload }: MediaMessage): Unit | null {
    if (!this.#mayBeWanted(header.session)) {
      return null;
    }
    const key = keyOf(header);
    const open = this.#open.get(key) ?? this.#begin(key, header);
    if (contradicts(open, header)) {
      return null;
    }
    open.parts.set(header.index, payload);
    open.of = header.last ? header.index + 1 : open.of;
    open.bytes += payload.length;
    this.#bytes += payload.length;
    const unit = open.parts.size === open.of ? this.#finish(key, header, open) : null;
    this.#trim();
    return unit;
  }

  /** Of the session that is described, or of a later one, which overtook its description. */
  #mayBeWanted(session: number): boolean {
    const current = this.#session ?? session;
    return (session - current + SESSIONS) % SESSIONS < SESSIONS / 2;
  }

  #begin(key: string, header: MediaHeader): Open {
    const open: Open = { header, parts: new Map(), of: null, bytes: 0 };
    this.#open.set(key, open);
    return open;
  }

  #finish(key: string, header: MediaHeader, open: Open): Unit | null {
    this.#remove(key, open);
    this.#giveUpBehind(header);
    const unit = { header, payload: joined(open) };
    if (header.session === this.#session) {
      return unit;
    }
    this.#early.push(unit);
    this.#bytes += unit.payload.length;
    return null;
  }

  #giveUpBehind(whole: MediaHeader): void {
    for (const [key, open] of this.#open) {
      const { track, layer, session, frame } = open.header;
      const isLike = track === whole.track && layer === whole.layer && session === whole.session;
      if (isLike && frame + FRAMES_BEHIND_MAX < whole.frame) {
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

function keyOf({ session, track, layer, frame }: MediaHeader): string {
  return `${session} ${track} ${layer} ${frame}`;
}

/** Whether a part is there already, or cannot be one of the unit whose others came. */
function contradicts({ parts, of }: Open, { index, last }: MediaHeader): boolean {
  const isBeyond = of !== null && (index >= of || (last && index + 1 !== of));
  const isEarly = of === null && last && [...parts.keys()].some((other) => other > index);
  return parts.has(index) || isBeyond || isEarly;
}

function joined({ parts, bytes }: Open): Uint8Array {
  const [only] = parts.values();
  if (parts.size === 1 && only !== undefined) {
    return only;
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (let index = 0; index < parts.size; index++) {
    const part = parts.get(index);
    whole.set(part ?? [], at);
    at += part?.length ?? 0;
  }
  return whole;
}
