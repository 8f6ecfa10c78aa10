/** One visit to a room: its connection, its worker, its devices, its sound, and what it shows. */

import { computed, effect, signal } from '@preact/signals';
import { CameraFeed } from '../../call/capture/camera-feed';
import { type Listed, MediaDevicesOfPage } from '../../call/capture/devices';
import { ShownScreen } from '../../call/capture/shown-screen';
import type { Kind } from '../../call/capture/words';
import type { NetworkRequest } from '../../call/protocol/requests';
import { CallSound, type Voice } from '../../call/voice/sound';
import type { FilesReport } from '../../exchange/files/desk';
import { save } from '../../exchange/save';
import { tabName } from '../../exchange/tab';
import type { ExchangeUser } from '../../exchange/ui/context';
import { Backoff } from '../../media/backoff';
import { nowMs } from '../../media/now';
import { Bridge, transferred } from '../../rtc/bridge';
import { Connection } from '../../rtc/connection';
import { CHANNELS } from '../protocol/streams';
import type { FromRoomWorker, ToRoomWorker } from '../worker/messages';
import { AgentConnection, socketUrl } from './agent-connection';
import { networkInformation, watchNetworks } from './browser-networks';
import { Handover } from './handover';
import { rememberName } from './settings';
import { RoomStore } from './store';

/** A network that changed is gone over at once; one that is not there is tried each second. */
const DELAYS_MS = [0, 500, 1_000, 1_000, 2_000];

/** How a room is reached: at its server, or by the agent on this machine. */
export type Way = 'server' | 'agent';

export class RoomSession implements ExchangeUser {
  readonly way: Way;
  readonly store = new RoomStore();
  readonly devices = new MediaDevicesOfPage({
    onTrack: (kind, track) => this.#onTrack(kind, track),
  });
  readonly #sound = signal<CallSound | null>(null);
  /** Whether the browser holds the sound back until a key or a click. */
  readonly isSilenced = computed(() => this.#sound.value?.isRunning.value === false);
  readonly canRoute = computed(() => this.#sound.value?.isRoutable === true);
  readonly #worker: Worker;
  readonly #connection: Connection | AgentConnection;
  readonly #camera = new CameraFeed((camera, transfer) =>
    this.#tell({ kind: 'camera', camera }, transfer),
  );
  readonly #voices = new Map<number, Voice>();
  readonly #handover = new Handover(() => this.#connection.restart());
  readonly screen = new ShownScreen({
    onTrack: (track) => this.#camera.use(track ?? this.devices.camera.track.peek(), track !== null),
    onProblem: (text) => this.store.notify('warning', text),
  });
  readonly others = 'all';
  readonly noTexts = null;
  readonly noFiles = null;
  #bridge: Bridge | null = null;

  constructor(way: Way) {
    this.way = way;
    this.#worker = new Worker(new URL('../worker/attendee.ts', import.meta.url), {
      type: 'module',
      name: 'room',
    });
    this.#worker.onmessage = ({ data }: MessageEvent<FromRoomWorker>) => this.#on(data);
    this.#worker.onerror = () =>
      this.store.notify('bad', 'A part of this page failed. Reload the page to start it again.');
    this.#connection = way === 'server' ? this.#toServer() : this.#toAgent();
    effect(() => this.#sayDevices());
    watchNetworks(window, networkInformation(), (isOnline) => {
      this.store.isOnline.value = isOnline;
      this.#handover.networkChanged(isOnline);
    });
    for (const type of ['pointerdown', 'keydown']) {
      document.addEventListener(type, () => this.#sound.peek()?.resume());
    }
    void this.devices.open(['microphone', 'camera']);
  }

  /** What the program is given to enter here. */
  async agentLink(): Promise<{ readonly link: string | null; readonly problem: string }> {
    try {
      const headers = { authorization: `Bearer ${token() ?? ''}` };
      const response = await fetch(`${location.pathname}/agent`, { headers });
      const text = await response.text();
      return response.ok ? { link: text, problem: '' } : { link: null, problem: text };
    } catch {
      return { link: null, problem: 'The server does not answer.' };
    }
  }

  /** Enters the room under this name. */
  async enter(name: string): Promise<void> {
    rememberName(name);
    this.store.stage.value = { is: 'entering' };
    this.#tell({ kind: 'start', name, tab: tabName() });
    await this.#openSound();
    this.#sayDevices();
    this.#camera.use(this.devices.camera.track.peek());
    this.#connection.open();
  }

  get isOpen(): boolean {
    return this.store.stage.value.is === 'in';
  }

  get filesReport(): FilesReport | null {
    return this.store.screen.value?.files ?? null;
  }

  nameOf(member: number): string {
    const members = this.store.members.value;
    return members.find(({ number }) => number === member)?.name ?? 'somebody';
  }

  leave(): void {
    this.#tell({ kind: 'leave' });
  }

  write(text: string): void {
    this.#tell({ kind: 'write', text });
  }

  offer(files: readonly File[]): void {
    this.#tell({ kind: 'offer_files', files });
  }

  withdraw(file: number): void {
    this.#tell({ kind: 'withdraw_file', file });
  }

  get(file: number): void {
    this.#tell({ kind: 'get_file', file });
  }

  stopGetting(sha256: string): void {
    this.#tell({ kind: 'stop_file', sha256 });
  }

  /** Keeps everybody else out, or lets who has a link in again: a host's. */
  toggleLock(): void {
    this.#tell({ kind: 'lock', locked: !this.store.isLocked.peek() });
  }

  /** Makes somebody leave: a host's. */
  remove(member: number): void {
    this.#tell({ kind: 'remove', member });
  }

  /** Asks the agent to use networks otherwise. */
  request(request: NetworkRequest): void {
    this.#tell({ kind: 'network_request', request });
  }

  /** Shows a member on this canvas. A canvas can be handed over once only. */
  showOn(member: number, canvas: HTMLCanvasElement): void {
    const offscreen = canvas.transferControlToOffscreen();
    this.#tell({ kind: 'canvas', member, canvas: offscreen }, [offscreen]);
  }

  /** Mutes what is on, and the other way round; what is not there is tried again. */
  toggle(kind: Kind): void {
    const isNone = this.devices[kind].state.peek() === 'none';
    void (isNone ? this.devices.retry(kind) : this.devices.toggle(kind));
  }

  choose(listed: Listed, id: string): void {
    if (listed !== 'loudspeaker') {
      void this.devices.choose(listed, id);
      return;
    }
    const { chosen } = this.devices;
    this.#sound
      .peek()
      ?.route(id)
      .then(() => {
        chosen.value = { ...chosen.peek(), loudspeaker: id };
      })
      .catch(() => this.store.notify('warning', 'This loudspeaker could not be opened.'));
  }

  #toServer(): Connection {
    const server = { url: `${location.pathname}/join`, token: token(), channels: CHANNELS };
    return new Connection(server, new Backoff(DELAYS_MS), {
      onState: (state) => {
        this.store.connection.value = state;
      },
      onChannels: (attempt, channels) => this.#handOver(attempt, channels),
      onGone: () => {
        this.#bridge = null;
        this.#tell({ kind: 'disconnect' });
      },
      onTraffic: () => undefined,
    });
  }

  #toAgent(): AgentConnection {
    return new AgentConnection(socketUrl(), new Backoff(DELAYS_MS), {
      onState: (state) => {
        this.store.connection.value = state;
      },
      onSocket: (attempt, url) => this.#tell({ kind: 'connect_to_agent', attempt, url }),
      onGone: () => this.#tell({ kind: 'disconnect' }),
    });
  }

  #handOver(attempt: number, channels: readonly RTCDataChannel[]): void {
    if (transferred(this.#worker, { kind: 'connect', attempt, channels } as const)) {
      return;
    }
    this.#tell({ kind: 'connect', attempt, channels: null });
    this.#bridge = new Bridge(attempt, channels, (message, transfer) =>
      this.#tell(message, transfer),
    );
  }

  #on(message: FromRoomWorker): void {
    switch (message.kind) {
      case 'message':
        this.#onMessage(message.message);
        return;
      case 'hearing':
        this.store.isHeard.value = message.isHeard;
        this.#handover.isHeard = message.isHeard;
        return;
      case 'lost':
        this.#handover.isHeard = true;
        if (this.store.stage.peek().is !== 'out') {
          this.#connection.lost(message.attempt, message.why);
        }
        return;
      case 'say':
        this.#bridge?.send(message.stream, message.data);
        return;
      case 'screen':
        this.store.screen.value = message.report;
        return;
      case 'file':
        save(message.name, message.blob);
        return;
      case 'camera_silent':
        this.#camera.play();
        return;
      case 'problem':
        this.store.notify('warning', message.text);
    }
  }

  #onMessage(message: Extract<FromRoomWorker, { kind: 'message' }>['message']): void {
    this.store.onMessage(message, nowMs());
    if (message.type === 'welcome') {
      this.#connection.welcomed();
    }
    this.#hearMembers();
    if (this.store.stage.peek().is === 'out') {
      this.#giveBack();
    }
  }

  /** A voice for each of the others. */
  #hearMembers(): void {
    const sound = this.#sound.peek();
    const there = new Set(this.store.members.peek().map(({ number }) => number));
    for (const [member, voice] of this.#voices) {
      if (!there.has(member)) {
        voice.close();
        this.#voices.delete(member);
      }
    }
    for (const member of sound === null ? [] : there) {
      if (!this.#voices.has(member) && sound !== null) {
        const voice = sound.addVoice(({ level, skewMs }) => {
          this.store.setLevel(member, level);
          this.#tell({ kind: 'skew', member, skewMs });
        });
        this.#voices.set(member, voice);
        this.#tell({ kind: 'voice_output', member, port: voice.output }, [voice.output]);
      }
    }
  }

  async #openSound(): Promise<void> {
    try {
      const sound = await CallSound.open(({ level }) => {
        this.store.ourLevel.value = level;
      });
      const frames = sound.microphoneFrames();
      this.#tell({ kind: 'microphone', port: frames }, [frames]);
      sound.hear(this.devices.microphone.track.peek());
      sound.resume();
      this.#sound.value = sound;
    } catch {
      this.store.notify('bad', 'This browser gives no sound output, so nobody is heard here.');
    }
  }

  #onTrack(kind: Kind, track: MediaStreamTrack | null): void {
    if (kind === 'microphone') {
      this.#sound.peek()?.hear(track);
      this.store.ourLevel.value = 0;
    } else if (this.store.stage.peek().is !== 'lobby' && this.screen.track.peek() === null) {
      this.#camera.use(track);
    }
  }

  #sayDevices(): void {
    const { isAsked, microphone, camera, text } = this.devices;
    if (isAsked.value) {
      const devices = {
        microphone: microphone.state.value,
        camera: this.screen.track.value === null ? camera.state.value : ('on' as const),
        text: text.value,
      };
      this.#tell({ kind: 'devices', devices });
    }
  }

  /** The visit is over: no lamp stays lit here. */
  #giveBack(): void {
    this.#connection.close();
    this.screen.close();
    for (const voice of this.#voices.values()) {
      voice.close();
    }
    this.#voices.clear();
    this.devices.close();
    this.#sound.peek()?.close();
    this.#sound.value = null;
  }

  #tell(message: ToRoomWorker, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

/** What opens the room: it never leaves the browser but in a header. */
function token(): string | null {
  return location.hash.slice(1) || null;
}
