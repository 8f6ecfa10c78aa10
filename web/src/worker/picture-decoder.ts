/** A decoder of pictures that is always ready for the next one. */

/** The decoder holds few pictures; what it does not return is forgotten. */
const DECODING_MAX = 64;
/** Chunk times only tell pictures apart; the decoder needs them to grow. */
const TICK_US = 1_000;

export interface Encoded {
  readonly key: boolean;
  readonly data: Uint8Array;
}

export class PictureDecoder<P extends Encoded> {
  readonly #user: (frame: VideoFrame, picture: P) => void;
  readonly #decoding = new Map<number, P>();
  #decoder: VideoDecoder | null = null;
  #codec: string | null = null;
  #waitsForKey = true;
  #tick = 0;
  /** Since the last restart. */
  errors = 0;

  /** `user` gets each picture, and closes it. */
  constructor(user: (frame: VideoFrame, picture: P) => void) {
    this.#user = user;
  }

  /**
   * What follows begins with a key frame of this codec; what is being decoded is not wanted any
   * more. A decoder of the same codec stays: it is warm.
   */
  restart(codec: string | null): void {
    this.#decoding.clear();
    this.#waitsForKey = true;
    this.errors = 0;
    if (codec !== this.#codec) {
      this.#close();
      this.#codec = codec;
    }
  }

  /** Pictures that it has not begun to decode. */
  get waiting(): number {
    return this.#decoder?.decodeQueueSize ?? 0;
  }

  /** Whether nothing can be decoded before the next key frame. */
  get waitsForKey(): boolean {
    return this.#waitsForKey;
  }

  /** Pictures before the next key frame are of no use. */
  awaitKey(): void {
    this.#waitsForKey = true;
  }

  /** Whether the decoder took it. */
  decode(picture: P): boolean {
    this.#waitsForKey &&= !picture.key;
    const decoder = this.#waitsForKey ? null : this.#open();
    if (decoder === null) {
      return false;
    }
    this.#tick += TICK_US;
    this.#decoding.set(this.#tick, picture);
    if (this.#decoding.size > DECODING_MAX) {
      const [oldest] = this.#decoding.keys();
      this.#decoding.delete(oldest ?? 0);
    }
    try {
      decoder.decode(
        new EncodedVideoChunk({
          type: picture.key ? 'key' : 'delta',
          timestamp: this.#tick,
          data: picture.data,
        }),
      );
      return true;
    } catch {
      this.#failed();
      return false;
    }
  }

  #open(): VideoDecoder | null {
    if (this.#decoder !== null || this.#codec === null || typeof VideoDecoder === 'undefined') {
      return this.#decoder;
    }
    const decoder = new VideoDecoder({
      output: (frame) => this.#decoded(frame),
      error: () => this.#failed(),
    });
    this.#decoder = decoder;
    try {
      decoder.configure(decoderConfig(this.#codec));
    } catch {
      this.#failed();
    }
    return this.#decoder;
  }

  #decoded(frame: VideoFrame): void {
    const picture = this.#decoding.get(frame.timestamp);
    this.#decoding.delete(frame.timestamp);
    if (picture === undefined) {
      frame.close();
      return;
    }
    this.#user(frame, picture);
  }

  /** The decoder is unusable after an error: a new one starts at the next key frame. */
  #failed(): void {
    this.errors += 1;
    this.#close();
  }

  #close(): void {
    if (this.#decoder !== null && this.#decoder.state !== 'closed') {
      this.#decoder.close();
    }
    this.#decoder = null;
    this.#decoding.clear();
    this.#waitsForKey = true;
  }
}

/** What stands against decoding this codec here, as a whole sentence; `null` if nothing does. */
export async function obstacleTo(codec: string): Promise<string | null> {
  if (typeof VideoDecoder === 'undefined') {
    return (
      'This browser cannot decode video in a page: WebCodecs is missing. ' +
      'Use a current one, at the address that the program printed.'
    );
  }
  const { supported } = await VideoDecoder.isConfigSupported(decoderConfig(codec)).catch(() => ({
    supported: false,
  }));
  return supported === true ? null : `This browser cannot decode this video (${codec}).`;
}

function decoderConfig(codec: string): VideoDecoderConfig {
  return { codec, optimizeForLatency: true };
}
