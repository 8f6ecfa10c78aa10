/** One media unit: the binary message of docs/page-protocol.md. */

import { DecodeError } from './checks';

export interface MediaUnit {
  readonly track: 'video' | 'audio';
  readonly layer: number;
  readonly key: boolean;
  readonly reference: boolean;
  readonly disposable: boolean;
  readonly discontinuity: boolean;
  /** No further layer of this picture follows. */
  readonly last: boolean;
  readonly frame: number;
  readonly ptsUs: number;
  /** When it is to be seen or heard, on the program's clock. */
  readonly playAtUs: number;
  readonly delayMs: number | null;
  readonly payload: Uint8Array;
}

export const HEADER_BYTES = 32;
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** As many as a VP9 superframe holds. */
const LAYERS_MAX = 8;

export const FORMAT_TO_PAGE = 1;
const TRACKS = ['video', 'audio'] as const;
const FLAG = { key: 1, reference: 2, disposable: 4, discontinuity: 8, last: 16 };
const DELAY_UNKNOWN = 0xffff_ffff;

/** The payload is a view into `bytes`; throws a {@link DecodeError}. */
export function decodeMediaUnit(bytes: ArrayBuffer): MediaUnit {
  if (bytes.byteLength < HEADER_BYTES) {
    throw new DecodeError(`a media unit of ${bytes.byteLength} bytes has no whole header`);
  }
  const view = new DataView(bytes);
  const track = TRACKS[view.getUint8(1)];
  if (view.getUint8(0) !== FORMAT_TO_PAGE || track === undefined) {
    throw new DecodeError(`a media unit of format ${view.getUint8(0)}, track ${view.getUint8(1)}`);
  }
  const length = view.getUint32(28);
  if (length !== bytes.byteLength - HEADER_BYTES || length > PAYLOAD_BYTES_MAX) {
    throw new DecodeError(
      `a media unit announces ${length} bytes and carries ${bytes.byteLength - HEADER_BYTES}`,
    );
  }
  const layer = view.getUint8(2);
  if (layer >= LAYERS_MAX) {
    throw new DecodeError(
      `a media unit of layer ${layer}, above the ${LAYERS_MAX} that a picture has`,
    );
  }
  const flags = view.getUint8(3);
  const delayUs = view.getUint32(24);
  return {
    track,
    layer,
    key: (flags & FLAG.key) !== 0,
    reference: (flags & FLAG.reference) !== 0,
    disposable: (flags & FLAG.disposable) !== 0,
    discontinuity: (flags & FLAG.discontinuity) !== 0,
    last: (flags & FLAG.last) !== 0,
    frame: view.getUint32(4),
    ptsUs: Number(view.getBigInt64(8)),
    playAtUs: Number(view.getBigUint64(16)),
    delayMs: delayUs === DELAY_UNKNOWN ? null : delayUs / 1000,
    payload: new Uint8Array(bytes, HEADER_BYTES),
  };
}

/** The inverse of {@link decodeMediaUnit}: a program's side, for the mock server and tests. */
export function encodeMediaUnit(unit: MediaUnit): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + unit.payload.length);
  const view = new DataView(bytes.buffer);
  let flags = 0;
  for (const [name, bit] of Object.entries(FLAG)) {
    flags |= unit[name as keyof typeof FLAG] ? bit : 0;
  }
  view.setUint8(0, FORMAT_TO_PAGE);
  view.setUint8(1, TRACKS.indexOf(unit.track));
  view.setUint8(2, unit.layer);
  view.setUint8(3, flags);
  view.setUint32(4, unit.frame);
  view.setBigInt64(8, BigInt(Math.round(unit.ptsUs)));
  view.setBigUint64(16, BigInt(Math.round(unit.playAtUs)));
  view.setUint32(24, unit.delayMs === null ? DELAY_UNKNOWN : Math.round(unit.delayMs * 1000));
  view.setUint32(28, unit.payload.length);
  bytes.set(unit.payload, HEADER_BYTES);
  return bytes;
}
