/** One visit to the page: its worker, its sound, and what it shows. */

import { Sound } from '../audio/sound';
import { stepped, type Tuner } from '../channels/tuner';
import { nowMs } from '../media/now';
import type { LinkSettings } from '../protocol/program';
import type { PageRequest } from '../protocol/requests';
import type { FromWorker, ToWorker } from '../worker/messages';
import { Store } from './store';

export class Session implements Tuner {
  readonly store = new Store();
  /** There are no small pictures of the channels. */
  readonly stills = null;
  readonly #worker: Worker;
  readonly #sound = new Sound({
    tell: (message, transfer) => this.#tell(message, transfer),
    onFailure: () =>
      this.store.notify(
        'warning',
        'This browser gives no sound output, so the video stays silent.',
      ),
  });
  readonly soundOn = this.#sound.isOn;

  constructor() {
    this.#worker = new Worker(new URL('../worker/worker.ts', import.meta.url), {
      type: 'module',
      name: 'player',
    });
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#on(data);
    this.#worker.onerror = () =>
      this.store.notify(
        'bad',
        'The player of this page failed. Reload the page to start it again.',
      );
  }

  /** Connects, and plays on this canvas. A canvas can be handed over once only. */
  start(canvas: HTMLCanvasElement): void {
    const socketUrl = new URL('socket', document.baseURI);
    socketUrl.protocol = socketUrl.protocol === 'https:' ? 'wss:' : 'ws:';
    const offscreen = canvas.transferControlToOffscreen();
    this.#tell({ kind: 'start', socketUrl: socketUrl.href, canvas: offscreen }, [offscreen]);
  }

  request(request: PageRequest): void {
    this.#tell({ kind: 'request', request });
  }

  setLink(path: number, link: LinkSettings): void {
    this.request({ type: 'set_link', path, ...link });
  }

  /** Watches the channel with this number. */
  watch(number: number): void {
    const { store } = this;
    if (number !== store.number.peek() || store.reception.peek().state !== 'playing') {
      this.request({ type: 'choose', number });
    }
  }

  /** Watches the channel that was watched before this one. */
  back(): void {
    if (this.store.before !== null) {
      this.watch(this.store.before);
    }
  }

  /** Watches the channel so many keys further. */
  step(by: number): void {
    const next = stepped(this, by);
    if (next !== null) {
      this.watch(next);
    }
  }

  /** Must be called from a key or a click the first time: browsers play no sound otherwise. */
  toggleSound(): void {
    const format = this.store.hello.value?.audio ?? null;
    if (this.soundOn.peek()) {
      this.#sound.close();
    } else if (format !== null) {
      void this.#sound.open(format);
    }
  }

  #on(message: FromWorker): void {
    switch (message.kind) {
      case 'connection':
        this.store.onConnection(message.connection, nowMs());
        return;
      case 'message':
        this.store.onMessage(message.message, nowMs());
        return;
      case 'screen':
        this.store.onScreen(message.report);
        return;
      case 'problem':
        this.store.notify('warning', message.text);
    }
  }

  #tell(message: ToWorker, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}
