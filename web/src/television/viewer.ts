/** The other end of the server: takes slots in turn, understands what is said and what is sent. */

import type { Channel, Programme, Urgent } from '../protocol/channel';
import { DecodeError } from '../protocol/checks';
import { Assembler, type Unit } from './playout/assembler';
import {
  type Description,
  decodeServerMessage,
  PROTOCOL_VERSION,
  type Report,
  type ServerMessage,
  type StillAnswer,
  type VideoFormat,
  type ViewerMessage,
} from './protocol/control';
import { decodeMedia, type MediaMessage } from './protocol/media';
import {
  CONTROL_STREAM,
  dataStream,
  roleOf,
  SLOTS,
  STILL_STREAM,
  URGENT_STREAM,
} from './protocol/streams';
import { StillGatherer } from './stills/gatherer';

export interface ViewerUser {
  /** To be sent on this stream. */
  say(stream: number, text: string): void;
  onWelcome(program: string, nowUs: number, channels: readonly Channel[]): void;
  onChannels(channels: readonly Channel[]): void;
  onDescription(description: Description): void;
  onOffAir(channel: number, text: string): void;
  onProgramme(channel: number, programme: Programme): void;
  onUnit(unit: Unit): void;
  /** A single picture of a channel, or what came instead of it. */
  onStill(channel: number, video: VideoFormat | null, payload: Uint8Array | null): void;
  onUrgent(urgent: Urgent): void;
  onOver(id: number): void;
  /** Something to show, or why a request cannot be met. */
  onWords(kind: 'guidance' | 'error', text: string): void;
  onBye(text: string): void;
  /** The first message that breaks the protocol. */
  onBroken(why: string): void;
}

export class Viewer {
  readonly #user: ViewerUser;
  readonly #assembler = new Assembler();
  readonly #still = new StillGatherer();
  #slot = 0;
  #channel: number | null = null;
  #broken = false;

  constructor(user: ViewerUser) {
    this.#user = user;
  }

  /** What is watched. */
  get channel(): number | null {
    return this.#channel;
  }

  /** Units of which some parts never came. */
  get incomplete(): number {
    return this.#assembler.givenUp;
  }

  hello(program: string, token: string | null, latencyMs: number): void {
    this.#say(CONTROL_STREAM, {
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      program,
      token,
      latency_ms: latencyMs,
    });
  }

  /** Watches a channel, and nothing else any more. */
  tune(channel: number): void {
    this.#slot = (this.#slot + 1) % SLOTS;
    this.#channel = channel;
    this.#assembler.clear();
    this.#say(dataStream(this.#slot), { type: 'tune', channel });
  }

  /** Watches nothing. */
  stop(): void {
    this.#channel = null;
    this.#assembler.clear();
    this.#say(dataStream(this.#slot), { type: 'stop' });
  }

  setLatency(latencyMs: number): void {
    this.#say(CONTROL_STREAM, { type: 'latency', latency_ms: latencyMs });
  }

  report(report: Report): void {
    this.#say(CONTROL_STREAM, { type: 'report', ...report });
  }

  /** An urgent message is on the screen. */
  seen(id: number): void {
    this.#say(URGENT_STREAM, { type: 'seen', id });
  }

  /** Asks for a single picture of a channel that is not watched. */
  askStill(channel: number): void {
    this.#say(STILL_STREAM, { type: 'still', channel });
  }

  /** Takes what came on a stream. */
  receive(stream: number, data: unknown): void {
    try {
      if (typeof data === 'string') {
        this.#onText(stream, decodeServerMessage(data));
      } else if (data instanceof ArrayBuffer) {
        this.#onMedia(stream, data);
      }
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        throw error;
      }
      if (!this.#broken) {
        this.#broken = true;
        this.#user.onBroken(error.message);
      }
    }
  }

  #say(stream: number, message: ViewerMessage): void {
    this.#user.say(stream, JSON.stringify(message));
  }

  #onMedia(stream: number, data: ArrayBuffer): void {
    const message = decodeMedia(data);
    const role = roleOf(stream);
    if (role.kind === 'still') {
      this.#onStillPart(message);
      return;
    }
    const isCurrent = 'slot' in role && role.slot === this.#slot;
    if (isCurrent && this.#channel !== null) {
      const unit = this.#assembler.push(message);
      if (unit !== null) {
        this.#user.onUnit(unit);
      }
    }
  }

  #onText(stream: number, message: ServerMessage | null): void {
    const role = roleOf(stream);
    const isStale = 'slot' in role && role.slot !== this.#slot;
    if (message === null || isStale) {
      return;
    }
    switch (message.type) {
      case 'welcome':
      case 'channels':
        this.#onList(message);
        return;
      case 'guidance':
      case 'error':
        this.#user.onWords(message.type, message.body.text);
        return;
      case 'bye':
        this.#user.onBye(message.body.text);
        return;
      case 'urgent':
        this.#user.onUrgent(message.body);
        return;
      case 'over':
        this.#user.onOver(message.body.id);
        return;
      case 'still':
        this.#onStill(message.body);
        return;
      case 'description':
      case 'off_air':
      case 'programme':
        this.#onChannel(message);
    }
  }

  #onStill(answer: StillAnswer): void {
    this.#still.begin(answer);
    if (answer.video === null) {
      this.#user.onStill(answer.channel, null, null);
    }
  }

  #onStillPart(message: MediaMessage): void {
    const whole = this.#still.push(message);
    if (whole !== null) {
      this.#user.onStill(whole.channel, whole.video, whole.payload);
    }
  }

  #onList(message: Extract<ServerMessage, { type: 'welcome' | 'channels' }>): void {
    if (message.type === 'channels') {
      this.#user.onChannels(message.body.channels);
      return;
    }
    const { protocol, program, now_us, channels } = message.body;
    if (protocol !== PROTOCOL_VERSION) {
      this.#user.onBye(
        `The server speaks version ${protocol} of the protocol and this page version ` +
          `${PROTOCOL_VERSION}. Reload the page.`,
      );
      return;
    }
    this.#user.onWelcome(program, now_us, channels);
  }

  #onChannel(
    message: Extract<ServerMessage, { type: 'description' | 'off_air' | 'programme' }>,
  ): void {
    switch (message.type) {
      case 'description': {
        const early = this.#assembler.begin(message.body.session);
        this.#user.onDescription(message.body);
        for (const unit of early) {
          this.#user.onUnit(unit);
        }
        return;
      }
      case 'off_air':
        this.#assembler.clear();
        this.#user.onOffAir(message.body.channel, message.body.text);
        return;
      case 'programme':
        this.#user.onProgramme(message.body.channel, message.body.programme);
    }
  }
}
