/** The data channels of one connection, whoever holds them. */

/** What all protocols say their control messages on. */
export const CONTROL_STREAM = 0;

/** What goes over a data channel. */
export type Sendable = string | Uint8Array<ArrayBuffer>;

/** What the main thread's data channels tell, where it holds them. */
export type Bridged =
  | { readonly kind: 'opened' | 'closed'; readonly attempt: number }
  | {
      readonly kind: 'received';
      readonly attempt: number;
      readonly stream: number;
      readonly data: unknown;
    };

export interface LinkUser {
  /** All channels open at once: they share an association. */
  onOpen(): void;
  onReceived(stream: number, data: unknown): void;
  /** `why` is a whole sentence, where the other end gave one. */
  onClosed(why?: string): void;
}

export interface Link {
  send(stream: number, data: Sendable): void;
  /** Bytes that were sent and have not left, as far as that is known here. */
  queuedBytes(stream: number): number;
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

  send(stream: number, data: Sendable): void {
    sendOn(this.#channels[stream], data);
  }

  queuedBytes(stream: number): number {
    return this.#channels[stream]?.bufferedAmount ?? 0;
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
  readonly #say: (stream: number, data: Sendable) => void;

  constructor(say: (stream: number, data: Sendable) => void, user: LinkUser) {
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

  send(stream: number, data: Sendable): void {
    this.#say(stream, data);
  }

  queuedBytes(): number {
    return 0;
  }

  /** The main thread closes them. */
  close(): void {}
}

/** A channel that is not open takes nothing. */
export function sendOn(channel: RTCDataChannel | undefined, data: Sendable): void {
  if (channel?.readyState !== 'open') {
    return;
  }
  // The two overloads are one to a channel, and two to the compiler.
  if (typeof data === 'string') {
    channel.send(data);
  } else {
    channel.send(data);
  }
}
