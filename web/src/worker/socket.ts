/** The connection to the program. */

import { Backoff } from '../media/backoff';
import { DecodeError } from '../protocol/checks';
import { PROTOCOL_VERSION } from '../protocol/program';
import type { Connection } from './messages';

/** What the program says on the socket: `M` as text, `U` as binary messages. */
export interface Language<M, U> {
  /** `null` for what this version does not know; throws a {@link DecodeError}. */
  readText(json: string): M | null;
  readUnit(bytes: ArrayBuffer): U;
  /** The version that a greeting announces; `null` for any other message. */
  versionIn(message: M): number | null;
  /** The text of the message after which nothing is said any more; `null` for any other. */
  lastWordsIn(message: M): string | null;
}

export interface SocketUser<M, U> {
  onConnection(connection: Connection): void;
  onMessage(message: M): void;
  onUnit(unit: U): void;
  /** The first message that breaks the protocol on each connection. */
  onBroken(why: string): void;
}

/** Keeps one WebSocket open until the program has said its last words; `R` is what it is asked. */
export class ProgramSocket<M, U, R extends object> {
  readonly #url: string;
  readonly #language: Language<M, U>;
  readonly #user: SocketUser<M, U>;
  readonly #backoff = new Backoff();
  #socket: WebSocket | null = null;
  #ended = false;
  #broken = false;

  constructor(url: string, language: Language<M, U>, user: SocketUser<M, U>) {
    this.#url = url;
    this.#language = language;
    this.#user = user;
  }

  open(): void {
    this.#ended = false;
    this.#user.onConnection({ state: 'connecting' });
    this.#broken = false;
    const socket = new WebSocket(this.#url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => this.#user.onConnection({ state: 'open' });
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = () => this.#retry();
    this.#socket = socket;
  }

  /**
   * A request made while the socket is not open is dropped: what is shown comes from the program
   * alone.
   */
  send(request: R): void {
    this.#put(JSON.stringify(request));
  }

  /** As {@link send}. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#put(bytes);
  }

  /** What waits to leave this machine's browser. */
  get queuedBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  #put(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(message);
    }
  }

  #receive(data: unknown): void {
    try {
      if (data instanceof ArrayBuffer) {
        this.#user.onUnit(this.#language.readUnit(data));
      } else if (typeof data === 'string') {
        this.#take(this.#language.readText(data));
      }
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        throw error;
      }
      this.#complain(error.message);
    }
  }

  #take(message: M | null): void {
    if (message === null) {
      return;
    }
    const version = this.#language.versionIn(message);
    if (version !== null) {
      this.#backoff.reset();
      if (version !== PROTOCOL_VERSION) {
        this.#end(
          `The program speaks version ${version} of the page protocol and this page version ` +
            `${PROTOCOL_VERSION}. Reload the page.`,
        );
        return;
      }
    }
    this.#user.onMessage(message);
    const lastWords = this.#language.lastWordsIn(message);
    if (lastWords !== null) {
      this.#end(lastWords);
    }
  }

  #end(text: string): void {
    this.#ended = true;
    this.#user.onConnection({ state: 'ended', text });
    this.#socket?.close();
  }

  #retry(): void {
    this.#socket = null;
    if (this.#ended) {
      return;
    }
    const retryInMs = this.#backoff.next();
    this.#user.onConnection({ state: 'waiting', retryInMs });
    setTimeout(() => this.open(), retryInMs);
  }

  #complain(why: string): void {
    if (!this.#broken) {
      this.#broken = true;
      this.#user.onBroken(why);
    }
  }
}
