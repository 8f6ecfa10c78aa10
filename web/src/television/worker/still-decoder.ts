/** Decodes single pictures, one after another, into small ones. */

import type { VideoFormat } from '../protocol/control';
import { shrunk } from './thumbnails';

export class StillDecoder {
  #last: Promise<unknown> = Promise.resolve();

  /** The picture, or null where this browser cannot decode it. */
  decode(video: VideoFormat, data: Uint8Array): Promise<ImageBitmap | null> {
    const picture = this.#last.then(() => decodeOne(video, data));
    this.#last = picture;
    return picture;
  }
}

/** A decoder of its own: the one of the channel that is watched stays as it is. */
async function decodeOne({ codec }: VideoFormat, data: Uint8Array): Promise<ImageBitmap | null> {
  if (typeof VideoDecoder === 'undefined') {
    return null;
  }
  let picture: ImageBitmap | null = null;
  const decoder = new VideoDecoder({
    output: (frame) => {
      picture ??= shrunk(frame, frame.displayWidth, frame.displayHeight);
      frame.close();
    },
    error: () => undefined,
  });
  try {
    decoder.configure({ codec, optimizeForLatency: true });
    decoder.decode(new EncodedVideoChunk({ type: 'key', timestamp: 0, data }));
    await decoder.flush();
  } catch {
    // What this browser cannot decode stays as it was in the guide.
  }
  if (decoder.state !== 'closed') {
    decoder.close();
  }
  return picture;
}
