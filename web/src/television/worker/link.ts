/** The data channels of one connection, whoever holds them. */

import { CONTROL_STREAM } from '../protocol/streams';
import type { Bridged } from './messages';

export interface LinkUser {
  /** All channels open at once: they share an association. */
  onOpen(): void;
  onReceived(stream: number, data: unknown): void;
  onClosed(): void;
}

export interface Link {
  send(stream: number, text: string): void;
  close(): void;
}

/** Channels that the worker holds itself. */
export class OwnLink implements Link {
  readonly #channels: readonly RTCDataChannel[];

  constructor(channels: readonly RTCDataChannel[], user: LinkUser) {
    this.#channels = channels;
    for (const [stream, channel] of channels.entries()) {
      channel.binaryType = 'arraybuffer';
      channel.onmessage = ({ data }) => user.onReceived(stream, data);
    }
    const control = channels[CONTROL_STREAM];
    if (control === undefined) {
      return;
    }
    control.onclose = () => user.onClosed();
    control.onopen = () => user.onOpen();
    if (control.readyState === 'open') {
      user.onOpen();
    }
  }

  send(stream: number, text: string): void {
    const channel = this.#channels[stream];
    if (channel?.readyState === 'open') {
      channel.send(text);
    }
  }

  close(): void {
    for (const channel of this.#channels) {
      channel.onmessage = null;
      channel.onclose = null;
      channel.onopen = null;
      channel.close();
    }
  }
}

/** Channels that only the main thread can hold, as in browsers that cannot transfer them. */
export class BridgedLink implements Link {
  readonly #user: LinkUser;
  readonly #say: (stream: number, text: string) => void;

  constructor(say: (stream: number, text: string) => void, user: LinkUser) {
    this.#say = say;
    this.#user = user;
  }

  /** Takes what the main thread's channels told. */
  on(message: Bridged): void {
    switch (message.kind) {
      case 'opened':
        this.#user.onOpen();
        return;
      case 'closed':
        this.#user.onClosed();
        return;
      case 'received':
        this.#user.onReceived(message.stream, message.data);
    }
  }

  send(stream: number, text: string): void {
    this.#say(stream, text);
  }

  /** The main thread closes them. */
  close(): void {}
}
