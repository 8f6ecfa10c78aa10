/** Messages about files: blocks that are asked for and brought (docs/meet.md). */

import { DecodeError } from '../../protocol/checks';

/** The channel of files. */
export const FILES_STREAM = 7;
/** Bytes of each block but the last one. */
export const BLOCK_BYTES = 4_000;
/** Blocks that may be asked for at once. */
export const BLOCKS_WANTED_MAX = 256;

const HEADER_BYTES = 11;
const WANT = 1;
const BLOCK = 2;

export interface FileMessage {
  /** Whether a block is asked for, or is here. */
  readonly type: 'want' | 'block';
  readonly file: number;
  readonly index: number;
  /** Who asks, or whose it is; from a page, for whom it is. */
  readonly member: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** How many blocks a file has. */
export function blocksOf(size: number): number {
  return Math.ceil(size / BLOCK_BYTES);
}

/** The bytes of a block: of a file, from here to there. */
export function rangeOf(size: number, index: number): readonly [number, number] {
  const begin = index * BLOCK_BYTES;
  return [begin, Math.min(size, begin + BLOCK_BYTES)];
}

export function encodeWant(file: number, index: number): Uint8Array<ArrayBuffer> {
  return encode(WANT, file, index, 0, new Uint8Array());
}

export function encodeBlock(
  file: number,
  index: number,
  member: number,
  payload: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return encode(BLOCK, file, index, member, payload);
}

/** The payload is a view into `bytes`; throws a `DecodeError`. */
export function decodeFileMessage(bytes: ArrayBuffer): FileMessage {
  if (bytes.byteLength < HEADER_BYTES) {
    throw new DecodeError(`a message about a file has only ${bytes.byteLength} bytes`);
  }
  const view = new DataView(bytes);
  const type = view.getUint8(0);
  if (type !== WANT && type !== BLOCK) {
    throw new DecodeError(`a message about a file is of type ${type}`);
  }
  return {
    type: type === WANT ? 'want' : 'block',
    file: view.getUint32(1),
    index: view.getUint32(5),
    member: view.getUint16(9),
    payload: new Uint8Array(bytes, HEADER_BYTES),
  };
}

function encode(
  type: number,
  file: number,
  index: number,
  member: number,
  payload: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(message.buffer);
  view.setUint8(0, type);
  view.setUint32(1, file);
  view.setUint32(5, index);
  view.setUint16(9, member);
  message.set(payload, HEADER_BYTES);
  return message;
}
