/** All streams of a room over one socket, to the agent on this machine. */

import { FILES_STREAM } from '../../exchange/files/blocks';
import { CONTROL_STREAM, type Link, type LinkUser, type Sendable } from '../../rtc/link';
import { streamOf } from '../protocol/streams';

/** How a page says that it begins anew, and is to stay the same member. */
const AGAIN = 4_001;

export class SocketLink implements Link {
  readonly #socket: WebSocket;

  constructor(url: string, user: LinkUser) {
    this.#socket = new WebSocket(url);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.onopen = () => user.onOpen();
    this.#socket.onclose = ({ reason }) =>
      user.onClosed(reason || 'The program on this machine does not answer.');
    this.#socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) {
        const stream = new Uint8Array(data, 0, 1)[0] ?? CONTROL_STREAM;
        user.onReceived(stream, data.slice(1));
      } else {
        user.onReceived(CONTROL_STREAM, data);
      }
    };
  }

  /** A socket that is not open takes nothing. */
  send(stream: number, data: Sendable): void {
    if (this.#socket.readyState !== WebSocket.OPEN) {
      return;
    }
    if (typeof data === 'string') {
      this.#socket.send(data);
      return;
    }
    const message = new Uint8Array(1 + data.length);
    message[0] = stream;
    message.set(data, 1);
    this.#socket.send(message);
  }

  /** All wait in one line: for pictures that counts once, as for files. */
  queuedBytes(stream: number): number {
    const counts = stream === streamOf('reference') || stream === FILES_STREAM;
    return counts ? this.#socket.bufferedAmount : 0;
  }

  close(): void {
    this.#socket.onopen = null;
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close(AGAIN);
  }
}
