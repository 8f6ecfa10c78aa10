/** Units for tests: what a source of 25 pictures and 50 frames of sound a second makes. */

import type { MediaHeader } from '../protocol/media';
import type { Unit } from './assembler';

export const PICTURE_MS = 40;

const HEADER: MediaHeader = {
  track: 'video',
  layer: 0,
  key: false,
  reference: true,
  lastLayer: true,
  discontinuity: false,
  session: 1,
  frame: 0,
  index: 0,
  last: true,
  references: 0,
  ptsUs: 0,
  atUs: 0,
};

/** A picture, which came to the server when it is to be seen. */
export function picture(frame: number, fields: Partial<MediaHeader> = {}): Unit {
  const timeUs = frame * PICTURE_MS * 1000;
  const header = { ...HEADER, frame, key: frame === 0, ptsUs: timeUs, atUs: timeUs, ...fields };
  return { header, payload: new Uint8Array([frame & 0xff]) };
}

export function sound(frame: number): Unit {
  const timeUs = frame * 20_000;
  return picture(frame, { track: 'audio', key: true, ptsUs: timeUs, atUs: timeUs });
}
