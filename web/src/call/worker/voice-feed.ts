/** Decodes the other end's voice and hands it to the worklet that plays it. */

import type { Voice } from '../protocol/agent';
import type { CallUnit } from '../protocol/media';
import type { ToVoicePlayer } from '../voice/messages';
import { VoiceLine } from './voice-line';

export class VoiceFeed {
  readonly #dueMs: (playAtUs: number) => number;
  readonly #line = new VoiceLine<CallUnit>((unit, samples) => this.#play(unit, samples));
  #decoder: AudioDecoder | null = null;
  #voice: Voice | null = null;
  #port: MessagePort | null = null;
  decodeErrors = 0;

  /** `dueMs` says when what is to be played out then is heard here. */
  constructor(dueMs: (playAtUs: number) => number) {
    this.#dueMs = dueMs;
  }

  connect(port: MessagePort): void {
    this.#port = port;
  }

  /** Voice of this kind follows. */
  restart(voice: Voice | null): void {
    this.#close();
    this.#line.clear();
    this.#voice = voice;
    this.#tell({ kind: 'clear' });
  }

  push(unit: CallUnit): void {
    const decoder = unit.conceal ? null : this.#open();
    if (decoder === null) {
      this.#line.missing(unit);
      return;
    }
    this.#line.decoding(unit);
    const { ptsUs: timestamp, payload: data } = unit;
    try {
      decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp, data }));
    } catch {
      this.#failed();
    }
  }

  #open(): AudioDecoder | null {
    const voice = this.#voice;
    if (voice === null || this.#port === null || typeof AudioDecoder === 'undefined') {
      return null;
    }
    if (this.#decoder === null) {
      this.#decoder = new AudioDecoder({
        output: (data) => this.#decoded(data),
        error: () => this.#failed(),
      });
      const { codec, sample_rate: sampleRate, channels: numberOfChannels } = voice;
      this.#decoder.configure({ codec, sampleRate, numberOfChannels });
    }
    return this.#decoder;
  }

  #decoded(data: AudioData): void {
    const samples = new Float32Array(data.numberOfFrames);
    data.copyTo(samples, { planeIndex: 0, format: 'f32-planar' });
    data.close();
    this.#line.decoded(samples);
  }

  #play(unit: CallUnit, samples: Float32Array | null): void {
    this.#tell({ kind: 'frame', dueMs: this.#dueMs(unit.playAtUs), samples });
  }

  /** Each frame can be decoded by itself: a new decoder goes on with the next one. */
  #failed(): void {
    this.decodeErrors += 1;
    this.#close();
    this.#line.failed();
  }

  #close(): void {
    if (this.#decoder !== null && this.#decoder.state !== 'closed') {
      this.#decoder.close();
    }
    this.#decoder = null;
  }

  #tell(message: ToVoicePlayer): void {
    const buffers =
      message.kind === 'frame' && message.samples !== null ? [message.samples.buffer] : [];
    this.#port?.postMessage(message, buffers);
  }
}
