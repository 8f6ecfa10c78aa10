/** The connection to the program. */

import { Backoff } from '../media/backoff';
import { DecodeError } from '../protocol/checks';
import { decodeMediaUnit, type MediaUnit } from '../protocol/media-unit';
import { decodeProgramMessage, PROTOCOL_VERSION, type ProgramMessage } from '../protocol/program';
import { encodeRequest, type PageRequest } from '../protocol/requests';
import type { Connection, LiveMessage } from './messages';

export interface SocketUser {
  onConnection(connection: Connection): void;
  onMessage(message: LiveMessage): void;
  onUnit(unit: MediaUnit): void;
  /** The first message that breaks the protocol on each connection. */
  onBroken(why: string): void;
}

/** Keeps one WebSocket open until the stream ends. */
export class ProgramSocket {
  readonly #url: string;
  readonly #user: SocketUser;
  readonly #backoff = new Backoff();
  #socket: WebSocket | null = null;
  #ended = false;
  #broken = false;

  constructor(url: string, user: SocketUser) {
    this.#url = url;
    this.#user = user;
  }

  open(): void {
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
  send(request: PageRequest): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(encodeRequest(request));
    }
  }

  #receive(data: unknown): void {
    try {
      if (data instanceof ArrayBuffer) {
        this.#user.onUnit(decodeMediaUnit(data));
      } else if (typeof data === 'string') {
        this.#take(decodeProgramMessage(data));
      }
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        throw error;
      }
      this.#complain(error.message);
    }
  }

  #take(message: ProgramMessage | null): void {
    if (message === null) {
      return;
    }
    if (message.type === 'hello') {
      this.#backoff.reset();
      const { protocol } = message.body;
      if (protocol !== PROTOCOL_VERSION) {
        this.#end(
          `The program speaks version ${protocol} of the page protocol and this page version ` +
            `${PROTOCOL_VERSION}. Reload the page.`,
        );
        return;
      }
    }
    if (message.type === 'ended') {
      this.#end(message.body.text);
      return;
    }
    this.#user.onMessage(message);
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
