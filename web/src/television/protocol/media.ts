/** One media message: a part of a picture's layer or of a frame of sound (docs/television.md). */

import { DecodeError } from '../../protocol/checks';

export type Track = 'video' | 'audio';

export interface MediaHeader {
  readonly track: Track;
  readonly layer: number;
  /** Decoding can begin here. */
  readonly key: boolean;
  /** Others are predicted from it. */
  readonly reference: boolean;
  /** The source has no higher layer of this picture. */
  readonly lastLayer: boolean;
  /** Something that it may refer to never came from the source. */
  readonly discontinuity: boolean;
  readonly channel: number;
  readonly epoch: number;
  readonly fragment: number;
  readonly fragments: number;
  /**
   * How many pictures that others are predicted from came before this one: 1 to 65,535, and 1
   * again. 0 says nothing.
   */
  readonly references: number;
  readonly frame: number;
  readonly ptsUs: number;
  /** When it came to the server, on its clock. */
  readonly atUs: number;
}

export interface MediaMessage {
  readonly header: MediaHeader;
  readonly payload: Uint8Array;
}

export const HEADER_BYTES = 36;
/** Parts of a layer, of which the longest has 2 MiB. */
export const FRAGMENTS_MAX = 132;
/** As many as a VP9 superframe holds. */
const LAYERS_MAX = 8;

const REFERENCES_MAX = 0xffff;

const FORMAT = 1;
const TRACKS: readonly Track[] = ['video', 'audio'];
const FLAG = { key: 1, reference: 2, lastLayer: 4, discontinuity: 8 };

/** The payload is a view into `bytes`; throws a {@link DecodeError}. */
export function decodeMedia(bytes: ArrayBuffer): MediaMessage {
  if (bytes.byteLength < HEADER_BYTES) {
    throw new DecodeError(`a media message of ${bytes.byteLength} bytes has no whole header`);
  }
  const view = new DataView(bytes);
  const [format, track] = [view.getUint8(0), TRACKS[view.getUint8(1)]];
  if (format !== FORMAT || track === undefined) {
    throw new DecodeError(`a media message of format ${format}, track ${view.getUint8(1)}`);
  }
  const layer = view.getUint8(2);
  if (layer >= LAYERS_MAX) {
    throw new DecodeError(`a media message of layer ${layer}; a picture has ${LAYERS_MAX} at most`);
  }
  const [fragment, fragments] = [view.getUint16(10), view.getUint16(12)];
  if (fragment >= fragments || fragments > FRAGMENTS_MAX) {
    throw new DecodeError(`a media message is part ${fragment} of ${fragments}`);
  }
  const flags = view.getUint8(3);
  const header = {
    track,
    layer,
    key: (flags & FLAG.key) !== 0,
    reference: (flags & FLAG.reference) !== 0,
    lastLayer: (flags & FLAG.lastLayer) !== 0,
    discontinuity: (flags & FLAG.discontinuity) !== 0,
    channel: view.getUint32(4),
    epoch: view.getUint16(8),
    fragment,
    fragments,
    references: view.getUint16(14),
    frame: view.getUint32(16),
    ptsUs: Number(view.getBigInt64(20)),
    atUs: Number(view.getBigUint64(28)),
  };
  return { header, payload: new Uint8Array(bytes, HEADER_BYTES) };
}

/**
 * Whether a picture can be decoded once another one was: none that it may refer to is missing
 * between the two.
 */
export function isEnoughFor(before: MediaHeader, next: MediaHeader): boolean {
  const { references, reference } = before;
  const after = reference ? (references % REFERENCES_MAX) + 1 : references;
  const isCounted = references !== 0;
  return next.frame === before.frame + 1 || (isCounted && next.references === after);
}
