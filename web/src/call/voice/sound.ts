/** The sound card: what the other end says comes out of it, what the microphone hears goes in. */

import { signal } from '@preact/signals';
import { outputTime } from '../../audio/output-clock';
import type { MicrophoneReport, ToVoicePlayer, VoiceReport } from './messages';
import { RATE } from './samples';
import workletUrl from './voice-worklet.ts?worker&url';

const CLOCK_EVERY_MS = 500;

/** Audio Output Devices API, section 3; TypeScript's libraries leave it out. */
interface Routable {
  setSinkId?(id: string): Promise<void>;
}

/** Somebody who is heard. */
export interface Voice {
  /** The end to which decoded voice is sent. */
  readonly output: MessagePort;
  close(): void;
}

export class CallSound {
  /** A browser may want a key or a click before anything is heard. */
  readonly isRunning = signal(false);
  readonly #context: AudioContext & Routable;
  readonly #players = new Set<AudioWorkletNode>();
  readonly #microphone: AudioWorkletNode;
  readonly #timer: number;
  #source: MediaStreamAudioSourceNode | null = null;

  static async open(onMicrophone: (report: MicrophoneReport) => void): Promise<CallSound> {
    const context = new AudioContext({ sampleRate: RATE, latencyHint: 'interactive' });
    await context.audioWorklet.addModule(workletUrl);
    return new CallSound(context, onMicrophone);
  }

  private constructor(context: AudioContext, onMicrophone: (report: MicrophoneReport) => void) {
    this.#context = context;
    this.#microphone = new AudioWorkletNode(context, 'microphone', {
      channelCount: 1,
      channelCountMode: 'explicit',
    });
    // Its output is silent: without a way to the loudspeaker it would not run.
    this.#microphone.connect(context.destination);
    this.#microphone.port.onmessage = ({ data }: MessageEvent<MicrophoneReport>) =>
      onMicrophone(data);
    context.onstatechange = () => this.#onState();
    this.#onState();
    this.#timer = window.setInterval(() => this.#tellClock(), CLOCK_EVERY_MS);
  }

  /** Starts what a browser holds back, where it lets us: always from a key or a click. */
  resume(): void {
    // What it refuses is asked for again with the next key or click.
    this.#context.resume().catch(() => undefined);
  }

  /** Plays somebody's voice, beside those of others. */
  addVoice(onReport: (report: VoiceReport) => void): Voice {
    const player = new AudioWorkletNode(this.#context, 'voice-player', {
      numberOfInputs: 0,
      outputChannelCount: [2],
    });
    player.connect(this.#context.destination);
    player.port.onmessage = ({ data }: MessageEvent<VoiceReport>) => onReport(data);
    this.#players.add(player);
    this.#tellClock();
    const close = () => {
      player.port.postMessage({ kind: 'end' } satisfies ToVoicePlayer);
      player.disconnect();
      player.port.onmessage = null;
      this.#players.delete(player);
    };
    return { output: portOf(player), close };
  }

  /** The end on which frames of the microphone come. */
  microphoneFrames(): MessagePort {
    return portOf(this.#microphone);
  }

  hear(track: MediaStreamTrack | null): void {
    this.#source?.disconnect();
    this.#source = null;
    if (track !== null) {
      this.#source = this.#context.createMediaStreamSource(new MediaStream([track]));
      this.#source.connect(this.#microphone);
    }
  }

  /** Whether this browser lets the page choose where sound comes out. */
  get isRoutable(): boolean {
    return this.#context.setSinkId !== undefined;
  }

  async route(loudspeaker: string): Promise<void> {
    // The default one has an empty name here.
    await this.#context.setSinkId?.(loudspeaker === 'default' ? '' : loudspeaker);
  }

  close(): void {
    window.clearInterval(this.#timer);
    this.hear(null);
    void this.#context.close();
  }

  #onState(): void {
    this.isRunning.value = this.#context.state === 'running';
    this.#tellClock();
  }

  #tellClock(): void {
    const clock = { kind: 'clock', ...outputTime(this.#context) };
    for (const player of this.#players) {
      player.port.postMessage(clock);
    }
  }
}

function portOf(node: AudioWorkletNode): MessagePort {
  const { port1, port2 } = new MessageChannel();
  node.port.postMessage(port1, [port1]);
  return port2;
}
