/** Joins the VP9 frames of one picture. */

const FRAMES_MAX = 8;
const MARKER = 0b1100_0000;

/**
 * Makes one chunk of the frames that came of a picture, in order of layers. A single frame stays
 * as it is.
 *
 * VP9 bitstream specification, Annex B: the frames are followed by an index: a marker byte `110` |
 * bytes per size − 1 (2 bits) | frames − 1 (3 bits), the size of each frame in little-endian, and
 * the marker again. Without it, a decoder takes the whole for one frame.
 */
export function superframe(frames: readonly Uint8Array[]): Uint8Array {
  const [first] = frames;
  if (first === undefined || frames.length > FRAMES_MAX) {
    throw new RangeError(`a superframe holds 1 to ${FRAMES_MAX} frames, not ${frames.length}`);
  }
  if (frames.length === 1) {
    return first;
  }
  const sizeBytes = bytesFor(Math.max(...frames.map((frame) => frame.length)));
  const marker = MARKER | ((sizeBytes - 1) << 3) | (frames.length - 1);
  const framesBytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  const joined = new Uint8Array(framesBytes + 2 + sizeBytes * frames.length);

  let at = 0;
  for (const frame of frames) {
    joined.set(frame, at);
    at += frame.length;
  }
  joined[at++] = marker;
  for (const frame of frames) {
    for (let byte = 0; byte < sizeBytes; byte++) {
      joined[at++] = (frame.length >>> (8 * byte)) & 0xff;
    }
  }
  joined[at] = marker;
  return joined;
}

function bytesFor(size: number): number {
  return Math.max(1, Math.ceil((32 - Math.clz32(size)) / 8));
}
