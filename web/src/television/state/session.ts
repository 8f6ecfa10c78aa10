/** One visit to the television page: its connection, its worker, its sound. */

import { batch } from '@preact/signals';
import { Sound } from '../../audio/sound';
import { type Stills, stepped, type Tuner } from '../../channels/tuner';
import { sentence } from '../../common/sentences';
import { Backoff } from '../../media/backoff';
import { nowMs } from '../../media/now';
import type { Channel } from '../../protocol/channel';
import { Bridge, transferred } from '../../rtc/bridge';
import { Connection } from '../../rtc/connection';
import { Address, channelIn } from '../address';
import { passed } from '../milestones';
import { isOrdered, STREAMS } from '../protocol/streams';
import { Rota } from '../stills/rota';
import type { FromPlayer, ToPlayer } from '../worker/messages';
import { lastNumber, latencyMs, muted, volume } from './settings';
import { Store } from './store';

const STILLS_EVERY_MS = 250;
const SOUND = { sample_rate: 48_000, channels: 2 };

export class Session implements Tuner {
  readonly store = new Store();
  readonly #sound = new Sound({
    tell: (message, transfer) => this.#tell(message, transfer),
    onFailure: () => this.store.notify('warning', 'This browser gives no sound output.'),
  });
  readonly soundOn = this.#sound.isOn;
  readonly stills: Stills = {
    thumbnails: this.store.thumbnails,
    setVisible: (channel, isVisible) => this.#rota.setVisible(channel, isVisible),
  };
  readonly #worker: Worker;
  readonly #connection: Connection;
  readonly #token = new URLSearchParams(location.search).get('token');
  readonly #rota = new Rota();
  readonly #address = new Address();
  /** The channel that the page's address asks for, also where there is no such channel. */
  readonly #askedFor: number | null;
  /** The page shows one channel, and no other. */
  readonly isBound: boolean;
  #bridge: Bridge | null = null;
  /** The key of the channel before this one. */
  #before: number | null = null;

  /** `embedded` is the only channel to show; null for the whole page. */
  constructor(embedded: number | null) {
    passed('script');
    this.isBound = embedded !== null;
    this.#askedFor = embedded ?? channelIn(location.search);
    this.#worker = new Worker(new URL('../worker/tuner.ts', import.meta.url), {
      type: 'module',
      name: 'tuner',
    });
    this.#worker.onmessage = ({ data }: MessageEvent<FromPlayer>) => batch(() => this.#on(data));
    this.#worker.onerror = () =>
      this.store.notify('bad', 'The player failed. Reload the page to start it again.');
    const channels = Array.from({ length: STREAMS }, (_, id) => ({ ordered: isOrdered(id) }));
    const server = { url: '/whep', token: this.#token, channels };
    this.#connection = new Connection(server, new Backoff(), {
      onStep: passed,
      onState: (state) => {
        this.store.connection.value = state;
      },
      onChannels: (attempt, channels) => this.#handOver(attempt, channels),
      onGone: () => this.#onGone(),
      onTraffic: (traffic) => {
        this.store.traffic.value = traffic;
      },
    });
  }

  /** Connects, and plays on this canvas. A canvas can be handed over once only. */
  start(canvas: HTMLCanvasElement): void {
    this.store.number.value = this.#askedFor;
    if (!this.isBound) {
      this.#address.listen((number) => this.#change(number, nowMs()));
    }
    const offscreen = canvas.transferControlToOffscreen();
    this.#tell({ kind: 'start', canvas: offscreen }, [offscreen]);
    this.#connection.open();
    window.setInterval(() => this.#askStill(), STILLS_EVERY_MS);
  }

  /** Watches the channel with this key; `pressedMs` is when it was pressed. */
  watch(number: number, pressedMs: number | null): void {
    if (this.isBound) {
      return;
    }
    const { store } = this;
    const isThere = store.channels.peek()?.some((channel) => channel.number === number);
    if (isThere === false) {
      store.notify('warning', `There is no channel ${number}.`);
      return;
    }
    this.#address.choose(number, nowMs());
    this.#change(number, pressedMs);
  }

  #change(number: number, pressedMs: number | null): void {
    const { store } = this;
    if (number === store.number.peek() && store.reception.peek().state === 'playing') {
      return;
    }
    if (number !== store.number.peek()) {
      this.#before = store.number.peek();
    }
    store.number.value = number;
    lastNumber.value = number;
    this.#tune(pressedMs);
  }

  /** Watches the channel that was watched before this one. */
  back(pressedMs: number): void {
    if (this.#before !== null) {
      this.watch(this.#before, pressedMs);
    }
  }

  /** Watches the channel so many keys further. */
  step(by: number, pressedMs: number): void {
    const next = stepped(this, by);
    if (next !== null) {
      this.watch(next, pressedMs);
    }
  }

  setLatency(ms: number): void {
    latencyMs.value = ms;
    this.#tell({ kind: 'latency', latencyMs: ms });
  }

  setVolume(value: number): void {
    volume.value = value;
    this.#sound.setVolume(value);
  }

  seen(id: number): void {
    this.#tell({ kind: 'seen', id });
  }

  toggleSound(): void {
    muted.value = this.soundOn.peek() ? 1 : 0;
    if (this.soundOn.peek()) {
      this.#sound.close();
    } else {
      this.#openSound();
    }
  }

  /** A key or a click: browsers play no sound before the first one. */
  gesture(): void {
    if (muted.peek() === 0) {
      this.#openSound();
    }
  }

  #tune(pressedMs: number | null): void {
    const { store } = this;
    const channel = store.channel.peek();
    store.description.value = null;
    if (channel === null) {
      store.reception.value = { state: 'idle' };
      return;
    }
    store.reception.value = { state: 'tuning' };
    this.#tell({ kind: 'tune', channel: channel.id, pressedMs });
  }

  #handOver(attempt: number, channels: readonly RTCDataChannel[]): void {
    const connect = {
      kind: 'connect',
      attempt,
      token: this.#token,
      latencyMs: latencyMs.peek(),
    } as const;
    if (transferred(this.#worker, { ...connect, channels })) {
      return;
    }
    this.#tell({ ...connect, channels: null });
    this.#bridge = new Bridge(attempt, channels, (message, transfer) =>
      this.#tell(message, transfer),
    );
  }

  #onGone(): void {
    this.#bridge = null;
    this.#rota.restart();
    this.store.traffic.value = null;
    this.store.urgent.value = [];
    this.#tell({ kind: 'disconnect' });
  }

  #openSound(): void {
    void this.#sound.open(SOUND, volume.peek());
  }

  #on(message: FromPlayer): void {
    const { store } = this;
    switch (message.kind) {
      case 'welcome':
        passed('welcome');
        this.#connection.welcomed();
        this.#onWelcome(message.channels);
        return;
      case 'channels':
        this.#onChannels(message.channels);
        return;
      case 'lost': {
        const why = sentence(message.text ?? 'the server ended the connection');
        this.#connection.lost(message.attempt, why);
        return;
      }
      case 'say':
        this.#bridge?.send(message.stream, message.data);
        return;
      case 'urgent':
        store.addUrgent(message.urgent);
        return;
      case 'over':
        store.removeUrgent(message.id);
        return;
      case 'words':
        store.notify(message.of === 'error' ? 'warning' : 'info', message.text);
        return;
      case 'problem':
        store.notify('warning', message.text);
        return;
      default:
        this.#onReception(message);
    }
  }

  #onWelcome(channels: readonly Channel[]): void {
    this.store.setChannels(channels);
    this.#begin();
  }

  /** Whoever waits for a channel begins with it, or else with the first that come. */
  #onChannels(channels: readonly Channel[]): void {
    const { store } = this;
    const hadNone = store.channels.peek()?.length === 0;
    const wasThere = store.channel.peek() !== null;
    store.setChannels(channels);
    const isThere = store.channel.peek() !== null;
    if ((isThere && !wasThere) || (hadNone && channels.length > 0)) {
      this.#begin();
    }
  }

  /** Watches what was watched before, or what can be watched. */
  #begin(): void {
    const { store } = this;
    const isAskedFor = this.#askedFor !== null && store.number.peek() === this.#askedFor;
    if (store.channel.peek() === null && !isAskedFor) {
      const list = store.channels.peek() ?? [];
      const last = list.find(({ number }) => number === lastNumber.peek());
      const first = list.find(({ on_air, playable }) => on_air && playable.is !== 'no');
      store.number.value = (last ?? first ?? list[0])?.number ?? null;
    }
    const number = store.number.peek();
    if (number !== null && !this.isBound) {
      this.#address.show(number);
    }
    this.#tune(nowMs());
  }

  #onReception(message: Extract<FromPlayer, { kind: ReceptionKind }>): void {
    const { store } = this;
    switch (message.kind) {
      case 'description':
        passed('description');
        store.description.value = message.description;
        return;
      case 'first':
        store.reception.value = { state: 'playing' };
        store.zapMs.value = message.zapMs ?? store.zapMs.peek();
        store.openedMs.value ??= message.atMs - performance.timeOrigin;
        return;
      case 'off_air':
        store.reception.value = { state: 'off_air', text: message.text };
        return;
      case 'obstacle':
        store.reception.value = { state: 'obstacle', text: message.text };
        return;
      case 'programme':
        store.setProgramme(message.channel, message.programme);
        return;
      case 'still':
        this.#rota.answered(message.channel);
        if (message.picture !== null) {
          store.setThumbnail(message.channel, message.picture);
        }
        return;
      case 'thumbnail':
        store.setThumbnail(message.channel, message.picture);
        return;
      case 'screen':
        store.report.value = message.report;
    }
  }

  /** For the small pictures of the guide; what is being watched comes first, and has its own. */
  #askStill(): void {
    const { store } = this;
    const isBusy = store.reception.peek().state === 'tuning' || document.hidden;
    if (store.connection.peek().state !== 'open' || isBusy) {
      return;
    }
    const others = (store.channels.peek() ?? []).filter(
      ({ number, on_air, playable }) =>
        on_air && playable.is !== 'no' && number !== store.number.peek(),
    );
    const channel = this.#rota.next(
      others.map(({ id }) => id),
      nowMs(),
    );
    if (channel !== null) {
      this.#tell({ kind: 'still', channel });
    }
  }

  #tell(message: ToPlayer, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

type ReceptionKind =
  | 'description'
  | 'first'
  | 'off_air'
  | 'obstacle'
  | 'programme'
  | 'thumbnail'
  | 'still'
  | 'screen';
