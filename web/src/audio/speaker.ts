/** The sound output: silent until the user asks for sound. */

import type { FromSpeaker, ToSpeaker } from './messages';
import { outputTime } from './output-clock';
import workletUrl from './speaker-worklet.ts?worker&url';

const CLOCK_EVERY_MS = 500;
const FADE_S = 0.02;

/** What the output is made for; sound of other rates is converted. */
export interface SpeakerFormat {
  readonly sample_rate: number;
  readonly channels: number;
}

export interface SpeakerUser {
  onSkew(skewMs: number | null): void;
}

/** A browser plays sound only after a key or a click: {@link open} must be called from one. */
export class Speaker {
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;
  readonly #gain: GainNode;
  readonly #timer: number;
  /** The end to which decoded sound is sent. */
  readonly port: MessagePort;

  static async open(format: SpeakerFormat, user: SpeakerUser): Promise<Speaker> {
    const context = new AudioContext({
      sampleRate: format.sample_rate,
      latencyHint: 'interactive',
    });
    await context.audioWorklet.addModule(workletUrl);
    await context.resume();
    return new Speaker(context, format, user);
  }

  private constructor(context: AudioContext, format: SpeakerFormat, user: SpeakerUser) {
    this.#context = context;
    this.#node = new AudioWorkletNode(context, 'speaker', {
      numberOfInputs: 0,
      outputChannelCount: [Math.min(2, Math.max(1, format.channels))],
    });
    this.#gain = context.createGain();
    this.#node.connect(this.#gain).connect(context.destination);
    this.#node.port.onmessage = ({ data }: MessageEvent<FromSpeaker>) => user.onSkew(data.skewMs);
    const { port1, port2 } = new MessageChannel();
    this.#node.port.postMessage(port1, [port1]);
    this.port = port2;
    this.#tellClock();
    this.#timer = window.setInterval(() => this.#tellClock(), CLOCK_EVERY_MS);
  }

  /** From 0, silent, to 1, as loud as the media. */
  setVolume(volume: number): void {
    // The ear hears the square of it as even steps; a jump would click.
    this.#gain.gain.setTargetAtTime(volume * volume, this.#context.currentTime, FADE_S);
  }

  close(): void {
    window.clearInterval(this.#timer);
    void this.#context.close();
  }

  #tellClock(): void {
    const message: ToSpeaker = { kind: 'clock', ...outputTime(this.#context) };
    this.#node.port.postMessage(message);
  }
}
