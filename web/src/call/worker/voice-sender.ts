/** Makes frames of 20 ms of what the microphone hears. */

import { nowUs } from '../../media/now';
import type { SentUnit } from '../protocol/media';
import type { MicrophoneFrame } from '../voice/messages';
import { FRAME_MS, RATE } from '../voice/samples';
import { CaptureClock } from './capture-clock';

export const VOICE = { codec: 'opus', sample_rate: RATE, channels: 1 } as const;

/** What the encoder protects a frame against with a part of the next one. */
const EXPECTED_LOSS_PERCENT = 10;
const FRAME_US = FRAME_MS * 1_000;
/** An encoder that is so far behind is given no more. */
const QUEUE_MAX = 10;

export class VoiceSender {
  readonly #send: (unit: SentUnit) => void;
  readonly #onFailure: () => void;
  readonly #clock = new CaptureClock();
  #encoder: AudioEncoder | null = null;
  #bps = 0;
  #frame = 0;
  /** Frames that an encoder was given. */
  #given = 0;
  /**
   * When what is in the encoder was captured: the times that it returns know nothing of a pause.
   */
  #capturedUs: number[] = [];
  /** Whether what the microphone hears is for the other end. */
  isOpen = false;

  constructor(send: (unit: SentUnit) => void, onFailure: () => void) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  /** Frames sent. */
  get sent(): number {
    return this.#frame;
  }

  /** At most so many bits a second. */
  set bps(bps: number) {
    if (bps !== this.#bps && bps > 0) {
      this.#bps = bps;
      this.#encoder?.configure(config(bps));
    }
  }

  push({ endUs, samples }: MicrophoneFrame): void {
    const capturedUs = this.#clock.captured(endUs, nowUs()) - FRAME_US;
    const encoder = this.isOpen && this.#bps > 0 ? this.#open() : null;
    if (encoder === null || encoder.encodeQueueSize > QUEUE_MAX) {
      return;
    }
    const data = new AudioData({
      format: 'f32-planar',
      sampleRate: RATE,
      numberOfFrames: samples.length,
      numberOfChannels: 1,
      timestamp: FRAME_US * this.#given++,
      data: samples as Float32Array<ArrayBuffer>,
    });
    this.#capturedUs = [...this.#capturedUs, Math.max(0, capturedUs)].slice(-QUEUE_MAX);
    encoder.encode(data);
    data.close();
  }

  #open(): AudioEncoder {
    if (this.#encoder === null || this.#encoder.state === 'closed') {
      this.#encoder = new AudioEncoder({
        output: (chunk) => this.#encoded(chunk),
        error: () => this.#onFailure(),
      });
      this.#capturedUs = [];
      this.#encoder.configure(config(this.#bps));
    }
    return this.#encoder;
  }

  #encoded(chunk: EncodedAudioChunk): void {
    const ptsUs = this.#capturedUs.shift();
    if (!this.isOpen || ptsUs === undefined) {
      return;
    }
    const payload = new Uint8Array(chunk.byteLength);
    chunk.copyTo(payload);
    this.#send({ track: 'audio', role: 'voice', frame: this.#frame++, ptsUs, payload });
  }
}

function config(bitrate: number): AudioEncoderConfig {
  const opus = {
    application: 'voip',
    signal: 'voice',
    frameDuration: FRAME_US,
    packetlossperc: EXPECTED_LOSS_PERCENT,
    useinbandfec: true,
    usedtx: false,
  } as OpusEncoderConfig;
  return { codec: 'opus', sampleRate: RATE, numberOfChannels: 1, bitrate, opus };
}
