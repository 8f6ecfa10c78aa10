/** Data channels on the main thread, for browsers that cannot hand them to a worker. */

import { CONTROL_STREAM } from '../protocol/streams';
import type { Bridged, ToPlayer } from '../worker/messages';

/** Whether the worker has the channels now. */
export function transferred(
  worker: Worker,
  message: Extract<ToPlayer, { kind: 'connect' }>,
  channels: readonly RTCDataChannel[],
): boolean {
  try {
    worker.postMessage(message, [...channels]);
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

  send(stream: number, text: string): void {
    const channel = this.#channels[stream];
    if (channel?.readyState === 'open') {
      channel.send(text);
    }
  }
}
