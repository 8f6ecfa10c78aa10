/**
 * One media message: a part of a picture's layer or of a frame of sound, as a piece of a unit
 * (docs/session-protocol.md).
 */

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
  /** The server's number of this start of the source. */
  readonly session: number;
  readonly frame: number;
  /** Number of the part in its unit. */
  readonly index: number;
  /** It ends its unit. */
  readonly last: boolean;
  /** How many pictures that others are predicted from came before this one; 0 says nothing. */
  readonly references: number;
  readonly ptsUs: number;
  /** When it came to the server, on its clock. */
  readonly atUs: number;
}

export interface MediaMessage {
  readonly header: MediaHeader;
  readonly payload: Uint8Array;
}

/** Parts of a unit, of which the longest has 2 MiB. */
export const PARTS_MAX = 1_024;
/** As many as a VP9 superframe holds. */
const LAYERS_MAX = 8;

/** Version 2, whose format 1 is units. */
const VERSION_AND_FORMAT = 0x21;
const FIXED_BYTES = 8;
const FLAG = { last: 0x80, nulls: 0x40, lastLayer: 0x20, discontinuity: 0x10 };
const CLASS = { keyFrame: 1, audio: 2, reference: 3, disposable: 5 };
const CLASSES: readonly number[] = Object.values(CLASS);

/** The payload is a view into `bytes`; throws a {@link DecodeError}. */
export function decodeMedia(bytes: ArrayBuffer): MediaMessage {
  const view = new DataView(bytes);
  const fixed = readFixed(view);
  const reader = new VarintReader(view, FIXED_BYTES);
  const [frame, index] = [reader.next(), reader.next()];
  // Its number among those of its track and class.
  reader.next();
  if (index >= PARTS_MAX) {
    throw new DecodeError(`a media message is part ${index} of its unit`);
  }
  const [references, zigzag] = [reader.next(), reader.next()];
  // Its place among all parts of the source.
  reader.next();
  const [atUs, items] = [reader.next(), reader.next()];
  if (items !== 1) {
    throw new DecodeError(`a media message of ${items} units`);
  }
  const ptsUs = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  const header = { ...fixed, frame, index, references, ptsUs, atUs };
  return { header, payload: new Uint8Array(bytes, reader.at) };
}

/**
 * Whether a picture can be decoded once another one was: none that it may refer to is missing
 * between the two.
 */
export function isEnoughFor(before: MediaHeader, next: MediaHeader): boolean {
  const { references, reference } = before;
  const isCounted = references !== 0;
  const after = references + (reference ? 1 : 0);
  return next.frame === before.frame + 1 || (isCounted && next.references === after);
}

function readFixed(view: DataView) {
  if (view.byteLength < FIXED_BYTES) {
    throw new DecodeError(`a media message of ${view.byteLength} bytes has no whole header`);
  }
  const [first, flags, layer] = [view.getUint8(0), view.getUint8(1), view.getUint8(6)];
  const unitClass = flags & 0x0f;
  if (first !== VERSION_AND_FORMAT || (flags & FLAG.nulls) !== 0 || view.getUint8(7) !== 1) {
    throw new DecodeError(`a media message of version ${first >> 4}, format ${first & 0x0f}`);
  }
  if (!CLASSES.includes(unitClass)) {
    throw new DecodeError(`a media message of class ${unitClass}, neither picture nor sound`);
  }
  if (layer >= LAYERS_MAX) {
    throw new DecodeError(`a media message of layer ${layer}; a picture has ${LAYERS_MAX} at most`);
  }
  const track: Track = unitClass === CLASS.audio ? 'audio' : 'video';
  return {
    track,
    layer,
    key: unitClass === CLASS.keyFrame || unitClass === CLASS.audio,
    reference: unitClass === CLASS.keyFrame || unitClass === CLASS.reference,
    lastLayer: (flags & FLAG.lastLayer) !== 0,
    discontinuity: (flags & FLAG.discontinuity) !== 0,
    session: view.getUint16(2),
    last: (flags & FLAG.last) !== 0,
  };
}

/** Numbers of seven bits a byte, the lowest first. */
class VarintReader {
  readonly #view: DataView;
  at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.at = at;
  }

  next(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      if (this.at >= this.#view.byteLength) {
        throw new DecodeError('a media message ends inside its header');
      }
      const byte = this.#view.getUint8(this.at);
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) {
        throw new DecodeError('a number of a media message is larger than any source reaches');
      }
      if (byte < 0x80) {
        return value;
      }
      scale *= 0x80;
    }
  }
}
