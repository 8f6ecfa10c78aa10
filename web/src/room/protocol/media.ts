/**
 * Media of a room, both ways: pieces of units, as in a call (docs/meet.md). A member sends its
 * picture as track 0 and its voice as track 1; the room numbers them by member.
 */

import type { SentUnit } from '../../call/protocol/media';
import { decodeMedia, type MediaMessage } from '../../television/protocol/media';

/** What a unit is worth. */
export type Role = SentUnit['role'];

/** A part of something that another member sent. */
export interface MemberMedia extends MediaMessage {
  readonly member: number;
}

/** The longest message. */
export const PIECE_BYTES_MAX = 16 * 1024;
/** The longest header of one. */
const HEADER_BYTES_MAX = 80;
const PART_BYTES = PIECE_BYTES_MAX - HEADER_BYTES_MAX;

const VERSION_AND_FORMAT = 0x21;
const TRACK_AT = 4;
const TRACKS = 2;
const CLASS: Readonly<Record<Role, number>> = { key: 1, voice: 2, reference: 3, disposable: 5 };
const FLAG = { last: 0x80, lastLayer: 0x20 };

/** The payload is a view into `bytes`; throws a `DecodeError`. */
export function decodeMemberMedia(bytes: ArrayBuffer): MemberMedia {
  const message = decodeMedia(bytes);
  const member = Math.floor(new DataView(bytes).getUint16(TRACK_AT) / TRACKS);
  return { ...message, member };
}

/** Cuts what this page makes into messages, and counts it. */
export class MediaCutter {
  /** Of this start: others tell by it that the numbers began anew. */
  readonly #session: number;
  /** Times count from here: whole ones since 1970 are too large for a piece. */
  readonly #originUs: number;
  #position = 0;
  #references = 1;
  readonly #sequences: Record<Role, number> = { key: 0, voice: 0, reference: 0, disposable: 0 };

  constructor(session: number, originUs: number) {
    this.#session = session;
    this.#originUs = originUs;
  }

  cut(unit: SentUnit): Uint8Array<ArrayBuffer>[] {
    const references = unit.role === 'voice' ? 0 : this.#references;
    this.#references += unit.role === 'key' || unit.role === 'reference' ? 1 : 0;
    const parts = Math.max(1, Math.ceil(unit.payload.length / PART_BYTES));
    return Array.from({ length: parts }, (_, index) =>
      this.#piece(unit, index, index + 1 === parts, references),
    );
  }

  #piece(
    unit: SentUnit,
    index: number,
    last: boolean,
    references: number,
  ): Uint8Array<ArrayBuffer> {
    const { role, frame } = unit;
    const atUs = Math.max(0, unit.ptsUs - this.#originUs);
    const payload = unit.payload.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
    const header: number[] = [
      VERSION_AND_FORMAT,
      CLASS[role] | FLAG.lastLayer | (last ? FLAG.last : 0),
      this.#session >> 8,
      this.#session & 0xff,
      0,
      role === 'voice' ? 1 : 0,
      0,
      1,
    ];
    const times = [references, 2 * atUs, this.#position, atUs, 1];
    for (const value of [frame, index, this.#sequences[role], ...times]) {
      pushVarint(header, value);
    }
    this.#sequences[role] += 1;
    this.#position += 1;
    const bytes = new Uint8Array(header.length + payload.length);
    bytes.set(header);
    bytes.set(payload, header.length);
    return bytes;
  }
}

/** Seven bits a byte, the lowest first. */
function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}
