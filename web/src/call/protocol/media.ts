/** The binary messages of a call, both ways: see docs/call.md. */

import { DecodeError } from '../../protocol/checks';
import {
  decodeMediaUnit,
  encodeMediaUnit,
  FORMAT_TO_PAGE,
  HEADER_BYTES,
  type MediaUnit,
} from '../../protocol/media-unit';

const FORMAT_FROM_PAGE = 2;
const FORMAT_FILES = 3;
const FLAG_CONCEAL = 32;
const FLAGS_AT = 3;
const DELAY_AT = 24;

/** A unit that the agent sends; a frame of voice that did not come is to be concealed. */
export interface CallUnit extends MediaUnit {
  readonly conceal: boolean;
}

/** What the page made: a picture is exactly one of key, reference and disposable. */
export interface SentUnit {
  readonly track: 'video' | 'audio';
  readonly role: 'key' | 'reference' | 'disposable' | 'voice';
  readonly frame: number;
  readonly ptsUs: number;
  readonly payload: Uint8Array;
}

/** A message about a file, between its first byte and the agent. */
export interface CallBlock {
  readonly track: 'files';
  readonly message: ArrayBuffer;
}

/** What the agent sends, as bytes; throws a {@link DecodeError}. */
export function decodeCallMessage(bytes: ArrayBuffer): CallUnit | CallBlock {
  const [format] = new Uint8Array(bytes, 0, Math.min(1, bytes.byteLength));
  return format === FORMAT_FILES
    ? { track: 'files', message: bytes.slice(1) }
    : decodeCallUnit(bytes);
}

/** A message about a file, both ways. */
export function encodeCallBlock(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(1 + message.length);
  bytes[0] = FORMAT_FILES;
  bytes.set(message, 1);
  return bytes;
}

/** Throws a {@link DecodeError}. */
export function decodeCallUnit(bytes: ArrayBuffer): CallUnit {
  const unit = decodeMediaUnit(bytes);
  const conceal = (new DataView(bytes).getUint8(FLAGS_AT) & FLAG_CONCEAL) !== 0;
  if (conceal && unit.track !== 'audio') {
    throw new DecodeError('a picture that is to be concealed');
  }
  return { ...unit, conceal };
}

export function encodeSentUnit({ track, role, frame, ptsUs, payload }: SentUnit): Uint8Array {
  const bytes = encodeMediaUnit({
    track,
    layer: 0,
    key: role === 'key',
    reference: role === 'reference',
    disposable: role === 'disposable',
    discontinuity: false,
    last: true,
    frame: frame >>> 0,
    ptsUs,
    playAtUs: 0,
    delayMs: 0,
    payload,
  });
  bytes[0] = FORMAT_FROM_PAGE;
  return bytes;
}

/** The agent's side, for the mock agent and tests. */
export function encodeCallUnit(unit: CallUnit): Uint8Array {
  const bytes = encodeMediaUnit(unit);
  const view = new DataView(bytes.buffer);
  view.setUint8(FLAGS_AT, view.getUint8(FLAGS_AT) | (unit.conceal ? FLAG_CONCEAL : 0));
  return bytes;
}

/** The inverse of {@link encodeSentUnit}: the agent's side, for the mock agent and tests. */
export function decodeSentUnit(sent: Uint8Array): SentUnit {
  const bytes = sent.slice();
  const format = bytes[0];
  if (bytes.length < HEADER_BYTES || format !== FORMAT_FROM_PAGE) {
    throw new DecodeError(`a message of format ${format} from a page`);
  }
  bytes[0] = FORMAT_TO_PAGE;
  const unit = decodeMediaUnit(bytes.buffer);
  if (unit.playAtUs !== 0 || new DataView(bytes.buffer).getUint32(DELAY_AT) !== 0 || !unit.last) {
    throw new DecodeError('a unit of a page with a play-out time, a delay, or without `last`');
  }
  const { track, frame, ptsUs, payload } = unit;
  return { track, role: roleOf(unit), frame, ptsUs, payload };
}

function roleOf(unit: MediaUnit): SentUnit['role'] {
  const roles = (['key', 'reference', 'disposable'] as const).filter((role) => unit[role]);
  const [role] = roles;
  if (roles.length !== (unit.track === 'video' ? 1 : 0)) {
    throw new DecodeError(`a unit of track ${unit.track} that is ${roles.join(' and ')}`);
  }
  return role ?? 'voice';
}
