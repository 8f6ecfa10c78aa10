/** Everything that the interface shows, as signals. */

import { batch, computed, type Signal, signal } from '@preact/signals';
import { ChannelStore } from '../channels/store';
import type { Hello, ProgramEvent, Severity, Stats, Treatments, Tuned } from '../protocol/program';
import type { Connection, LiveMessage, ScreenReport } from '../worker/messages';
import { LayerHistory, type LayerView } from './layer-history';
import { PathHistory, type PathView } from './path-history';
import { SHOWN_S } from './timeline';

const EVENTS_MAX = 200;
/** Pictures in the strip below the video. */
export const STRIP_PICTURES = 300;

/** A moment worth a line on the graphs. */
export interface Mark {
  readonly atS: number;
  readonly severity: Severity;
  readonly path: number | null;
}

const MARKED = new Set([
  'link_cut',
  'link_restored',
  'path_potentially_failed',
  'path_failed',
  'path_active',
  'primary_changed',
  'path_added',
  'path_removed',
  'peer_connected',
  'peer_lost',
]);

export class Store extends ChannelStore {
  readonly connection: Signal<Connection> = signal({ state: 'connecting' });
  readonly hello = signal<Hello | null>(null);
  readonly stats = signal<Stats | null>(null);
  readonly paths = signal<readonly PathView[]>([]);
  readonly layers = signal<ReadonlyMap<string, LayerView>>(new Map());
  readonly events = signal<readonly ProgramEvent[]>([]);
  readonly treatments = signal<Treatments | null>(null);
  /** The program waits for its peer, or tries it again, at this time (epoch, ms). */
  readonly peerWait = signal<{ readonly untilMs: number; readonly why: string } | null>(null);
  /** What is over and can be started again, in words. */
  readonly finished = signal<string | null>(null);
  /** When the socket is opened again (epoch, ms). */
  readonly retryAtMs = signal<number | null>(null);
  readonly screen = signal<ScreenReport | null>(null);
  /** Layers of the last pictures, oldest first; 0 for a missing one. */
  readonly strip = signal<readonly number[]>([]);
  /** Seconds on the program's clock, with each `stats`: the right edge of the graphs. */
  readonly nowS = signal(0);

  /** The key of the channel that was watched before this one. */
  before: number | null = null;

  readonly abandoned = computed(() => sumAbandoned(this.stats.value));

  #pathHistories = new Map<number, PathHistory>();
  #layerHistories = new Map<string, LayerHistory>();

  pathHistory(id: number): PathHistory {
    return entry(this.#pathHistories, id, () => new PathHistory());
  }

  layerHistory(id: string): LayerHistory {
    return entry(this.#layerHistories, id, () => new LayerHistory());
  }

  /** Marks within the last half minute that concern this path, or with null all. */
  marks(path: number | null): Mark[] {
    const fromS = this.nowS.peek() - SHOWN_S;
    return this.events
      .peek()
      .filter((event) => MARKED.has(event.kind) && event.at_us / 1e6 >= fromS)
      .filter((event) => path === null || event.path === path || event.path === null)
      .map((event) => ({ atS: event.at_us / 1e6, severity: event.severity, path: event.path }));
  }

  onMessage(message: LiveMessage, nowMs: number): void {
    batch(() => {
      switch (message.type) {
        case 'hello':
          this.#restart(message.body);
          return;
        case 'stats':
          this.#onStats(message.body);
          return;
        case 'event':
          this.#onEvent(message.body);
          return;
        case 'treatments':
          this.treatments.value = message.body;
          return;
        case 'channels':
          this.setChannels(message.body.channels);
          return;
        case 'tuned':
          this.#onTuned(message.body);
          return;
        case 'urgent':
          this.addUrgent(message.body);
          return;
        case 'over':
          this.removeUrgent(message.body.id);
          return;
        case 'error':
          this.notify('bad', message.body.text);
          return;
        case 'reconnecting': {
          const { in_s, why } = message.body;
          this.peerWait.value = { untilMs: nowMs + in_s * 1000, why };
          return;
        }
        case 'finished':
          this.finished.value = message.body.text;
      }
    });
  }

  onConnection(connection: Connection, nowMs: number): void {
    batch(() => {
      this.connection.value = connection;
      if (connection.state === 'connecting') {
        this.#forgetChannels();
      }
      this.retryAtMs.value = connection.state === 'waiting' ? nowMs + connection.retryInMs : null;
    });
  }

  onScreen(report: ScreenReport): void {
    batch(() => {
      this.screen.value = report;
      if (report.pictures.length > 0) {
        this.strip.value = [...this.strip.peek(), ...report.pictures].slice(-STRIP_PICTURES);
      }
    });
  }

  #restart(hello: Hello): void {
    this.#pathHistories = new Map();
    this.#layerHistories = new Map();
    this.hello.value = hello;
    this.stats.value = null;
    this.paths.value = [];
    this.layers.value = new Map();
    this.events.value = [];
    this.treatments.value = null;
    this.peerWait.value = null;
    this.finished.value = null;
    this.strip.value = [];
    this.nowS.value = hello.now_us / 1e6;
  }

  /** What was said on another connection may hold no more; what does is said anew. */
  #forgetChannels(): void {
    this.channels.value = null;
    this.number.value = null;
    this.reception.value = { state: 'idle' };
    this.urgent.value = [];
  }

  #onTuned({ number, state, text }: Tuned): void {
    if (number !== this.number.peek()) {
      this.before = this.number.peek();
    }
    this.number.value = number;
    this.reception.value =
      state === 'off_air'
        ? { state, text: text ?? 'its source has nothing' }
        : { state: state === 'asked' ? 'tuning' : 'playing' };
  }

  #onStats(stats: Stats): void {
    const nowS = stats.now_us / 1e6;
    this.stats.value = stats;
    this.paths.value = stats.paths.map((path) => this.pathHistory(path.id).push(nowS, path));
    this.layers.value = new Map(
      stats.layers.map((layer) => [layer.id, this.layerHistory(layer.id).push(nowS, layer)]),
    );
    this.nowS.value = nowS;
  }

  #onEvent(event: ProgramEvent): void {
    const known = this.events.peek();
    if (known.some(({ id }) => id === event.id)) {
      return;
    }
    this.events.value = [...known, event].slice(-EVENTS_MAX);
    if (event.kind === 'peer_connected') {
      this.peerWait.value = null;
    }
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) {
    return known;
  }
  const made = make();
  map.set(key, made);
  return made;
}

/** Messages abandoned in all layers, for whatever reason; `null`: not known here. */
function sumAbandoned(stats: Stats | null): number | null {
  const known = stats?.layers.flatMap(({ abandoned }) => (abandoned === null ? [] : [abandoned]));
  if (known === undefined || known.length === 0) {
    return null;
  }
  return known
    .flatMap(({ lifetime, retransmissions, before_sending }) => [
      lifetime,
      retransmissions,
      before_sending,
    ])
    .reduce((sum, tally) => sum + tally.messages, 0);
}
