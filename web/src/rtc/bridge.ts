/** Data channels on the main thread, for browsers that cannot hand them to a worker. */

import { type Bridged, CONTROL_STREAM, type Sendable, sendOn } from './link';

/** Whether the worker has the channels now, with this message. */
export function transferred<M extends { readonly channels: readonly RTCDataChannel[] }>(
  worker: Worker,
  message: M,
): boolean {
  try {
    worker.postMessage(message, [...message.channels]);
    return true;
  } catch {
    // A DataCloneError: this browser transfers no data channels.
    return false;
  }
}

export class Bridge {
  readonly #channels: readonly RTCDataChannel[];

  constructor(
    attempt: number,
    channels: readonly RTCDataChannel[],
    tell: (message: Bridged, transfer: Transferable[]) => void,
  ) {
    this.#channels = channels;
    for (const [stream, channel] of channels.entries()) {
      channel.binaryType = 'arraybuffer';
      channel.onmessage = ({ data }) =>
        tell(
          { kind: 'received', attempt, stream, data },
          data instanceof ArrayBuffer ? [data] : [],
        );
    }
    const control = channels[CONTROL_STREAM];
    if (control !== undefined) {
      control.onopen = () => tell({ kind: 'opened', attempt }, []);
      control.onclose = () => tell({ kind: 'closed', attempt }, []);
    }
  }

  send(stream: number, data: Sendable): void {
    sendOn(this.#channels[stream], data);
  }
}
