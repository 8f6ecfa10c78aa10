/** Decodes sound and hands it to the sound output. */

import type { ToSpeaker } from '../audio/messages';

/** What the decoder must know. */
export interface SoundFormat {
  readonly codec: string;
  readonly sample_rate: number;
  readonly channels: number;
}

export class SoundFeed {
  readonly #dueMs: (timeUs: number) => number;
  readonly #speed: (timeUs: number) => number;
  #decoder: AudioDecoder | null = null;
  #format: SoundFormat | null = null;
  #port: MessagePort | null = null;
  decoded = 0;
  decodeErrors = 0;

  /** `dueMs` says when what has this time is heard, `speed` how fast it goes. */
  constructor(dueMs: (timeUs: number) => number, speed: (timeUs: number) => number = () => 1) {
    this.#dueMs = dueMs;
    this.#speed = speed;
  }

  /** Starts anew with sound of this format. */
  restart(format: SoundFormat | null): void {
    this.#closeDecoder();
    this.#format = format;
    this.decoded = 0;
    this.decodeErrors = 0;
    this.#tell({ kind: 'clear' });
  }

  /** Without a port nothing is decoded. */
  connect(port: MessagePort | null): void {
    this.#port = port;
    this.#closeDecoder();
  }

  push(timeUs: number, payload: Uint8Array): void {
    const decoder = this.#port === null ? null : this.#openDecoder();
    try {
      decoder?.decode(new EncodedAudioChunk({ type: 'key', timestamp: timeUs, data: payload }));
    } catch {
      this.#failed();
    }
  }

  #openDecoder(): AudioDecoder | null {
    if (this.#decoder !== null || this.#format === null || typeof AudioDecoder === 'undefined') {
      return this.#decoder;
    }
    const decoder = new AudioDecoder({
      output: (data) => this.#decoded(data),
      error: () => this.#failed(),
    });
    this.#decoder = decoder;
    const { codec, sample_rate: sampleRate, channels: numberOfChannels } = this.#format;
    try {
      decoder.configure({ codec, sampleRate, numberOfChannels });
    } catch {
      this.#failed();
    }
    return this.#decoder;
  }

  #decoded(data: AudioData): void {
    this.decoded += 1;
    const channels = Array.from({ length: data.numberOfChannels }, (_, planeIndex) => {
      const samples = new Float32Array(data.numberOfFrames);
      data.copyTo(samples, { planeIndex, format: 'f32-planar' });
      return samples;
    });
    const { sampleRate, timestamp } = data;
    const [dueMs, speed] = [this.#dueMs(timestamp), this.#speed(timestamp)];
    data.close();
    this.#tell({ kind: 'block', dueMs, sampleRate, speed, channels });
  }

  /** Every audio frame can be decoded by itself: a new decoder goes on with the next one. */
  #failed(): void {
    this.decodeErrors += 1;
    this.#closeDecoder();
  }

  #closeDecoder(): void {
    if (this.#decoder !== null && this.#decoder.state !== 'closed') {
      this.#decoder.close();
    }
    this.#decoder = null;
  }

  #tell(message: ToSpeaker): void {
    const buffers = message.kind === 'block' ? message.channels.map(({ buffer }) => buffer) : [];
    this.#port?.postMessage(message, buffers);
  }
}
