/** Runs in the audio thread: plays the sound queue. */

import type { FromSpeaker, ToSpeaker } from './messages';
import { SoundQueue } from './sound-queue';

const REPORT_EVERY_S = 0.5;

class Speaker extends AudioWorkletProcessor {
  readonly #queue = new SoundQueue();
  /** Milliseconds since the epoch at the audio context's zero, as heard. */
  #zeroMs: number | null = null;
  #reportAtS = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<ToSpeaker | MessagePort>) => {
      if (data instanceof MessagePort) {
        data.onmessage = (event: MessageEvent<ToSpeaker>) => this.#on(event.data);
      } else {
        this.#on(data);
      }
    };
  }

  override process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const output = outputs[0] ?? [];
    if (this.#zeroMs !== null) {
      this.#queue.render(output, this.#zeroMs + currentTime * 1000, sampleRate);
    }
    if (currentTime >= this.#reportAtS) {
      this.#reportAtS = currentTime + REPORT_EVERY_S;
      this.port.postMessage({ skewMs: this.#queue.skewMs } satisfies FromSpeaker);
    }
    return true;
  }

  #on(message: ToSpeaker): void {
    switch (message.kind) {
      case 'block':
        this.#queue.push(message);
        return;
      case 'clear':
        this.#queue.clear();
        return;
      case 'clock':
        this.#zeroMs = message.epochMs - message.contextS * 1000;
    }
  }
}

registerProcessor('speaker', Speaker);
