/** Runs in the audio thread: plays the voice of a call, and takes that of the microphone. */

import type { MicrophoneFrame, MicrophoneReport, ToVoicePlayer, VoiceReport } from './messages';
import { LevelMeter } from './meter';
import { FRAME_SAMPLES } from './samples';
import { VoiceQueue } from './voice-queue';

const REPORT_EVERY_S = 0.1;
/** How much of a difference of the clocks is believed at once: one reading is off by some ms. */
const TRUST = 0.2;
/** A difference that is no error of a reading. */
const JUMP_MS = 40;

class VoicePlayer extends AudioWorkletProcessor {
  readonly #queue = new VoiceQueue();
  readonly #meter = new LevelMeter();
  /** Milliseconds since the epoch at the audio context's zero, as heard. */
  #zeroMs: number | null = null;
  #reportAtS = 0;
  #isOver = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<ToVoicePlayer | MessagePort>) => {
      if (data instanceof MessagePort) {
        data.onmessage = (event: MessageEvent<ToVoicePlayer>) => this.#on(event.data);
      } else {
        this.#on(data);
      }
    };
  }

  override process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const [first, ...others] = outputs[0] ?? [];
    if (first !== undefined && this.#zeroMs !== null) {
      this.#queue.render(first, this.#zeroMs + currentTime * 1000);
      this.#meter.take(first);
      for (const channel of others) {
        channel.set(first);
      }
    }
    if (currentTime >= this.#reportAtS) {
      this.#reportAtS = currentTime + REPORT_EVERY_S;
      const { heard, concealed, late, moves, skewMs } = this.#queue;
      const level = this.#meter.level();
      const report: VoiceReport = { level, heard, concealed, late, moves, skewMs };
      this.port.postMessage(report);
    }
    return !this.#isOver;
  }

  #on(message: ToVoicePlayer): void {
    switch (message.kind) {
      case 'frame':
        this.#queue.push(message);
        return;
      case 'clear':
        this.#queue.clear();
        return;
      case 'end':
        this.#isOver = true;
        return;
      case 'clock':
        this.#setClock(message.epochMs - message.contextS * 1000);
    }
  }

  #setClock(zeroMs: number): void {
    const differenceMs = zeroMs - (this.#zeroMs ?? zeroMs);
    this.#zeroMs =
      this.#zeroMs === null || Math.abs(differenceMs) > JUMP_MS
        ? zeroMs
        : this.#zeroMs + TRUST * differenceMs;
  }
}

class Microphone extends AudioWorkletProcessor {
  readonly #meter = new LevelMeter();
  #frame = new Float32Array(FRAME_SAMPLES);
  #filled = 0;
  #reportAtS = 0;
  #worker: MessagePort | null = null;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<MessagePort>) => {
      this.#worker = data;
    };
  }

  override process(inputs: Float32Array[][]): boolean {
    const samples = inputs[0]?.[0];
    if (samples !== undefined) {
      this.#take(samples);
    }
    if (currentTime >= this.#reportAtS) {
      this.#reportAtS = currentTime + REPORT_EVERY_S;
      this.port.postMessage({ level: this.#meter.level() } satisfies MicrophoneReport);
    }
    return true;
  }

  #take(samples: Float32Array): void {
    this.#meter.take(samples);
    for (const [at, sample] of samples.entries()) {
      this.#frame[this.#filled++] = sample;
      if (this.#filled === FRAME_SAMPLES) {
        this.#send(currentTime + (at + 1) / sampleRate);
      }
    }
  }

  #send(endS: number): void {
    const frame: MicrophoneFrame = { endUs: Math.round(endS * 1e6), samples: this.#frame };
    this.#worker?.postMessage(frame, [frame.samples.buffer]);
    this.#frame = new Float32Array(FRAME_SAMPLES);
    this.#filled = 0;
  }
}

registerProcessor('voice-player', VoicePlayer);
registerProcessor('microphone', Microphone);
