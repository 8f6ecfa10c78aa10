/** One visit to the page of a call: its worker, its devices, its sound, and what it shows. */

import { computed, effect, signal } from '@preact/signals';
import type { FilesReport } from '../../exchange/files/desk';
import { save } from '../../exchange/save';
import { tabName } from '../../exchange/tab';
import type { ExchangeUser } from '../../exchange/ui/context';
import { nowMs } from '../../media/now';
import { CameraFeed } from '../capture/camera-feed';
import { type Listed, MediaDevicesOfPage } from '../capture/devices';
import { ShownScreen } from '../capture/shown-screen';
import type { Kind } from '../capture/words';
import type { CallRequest } from '../protocol/requests';
import type { VoiceReport } from '../voice/messages';
import { CallSound } from '../voice/sound';
import { peerName } from '../words';
import type { FromCallWorker, ToCallWorker } from '../worker/messages';
import { CallStore } from './store';

export class CallSession implements ExchangeUser {
  readonly store = new CallStore();
  readonly devices = new MediaDevicesOfPage({
    onTrack: (kind, track) => this.#onTrack(kind, track),
  });
  readonly #sound = signal<CallSound | null>(null);
  /** Whether the browser holds the sound back until a key or a click. */
  readonly isSilenced = computed(() => this.#sound.value?.isRunning.value === false);
  readonly canRoute = computed(() => this.#sound.value?.isRoutable === true);
  readonly #worker: Worker;
  readonly #camera = new CameraFeed((camera, transfer) =>
    this.#tell({ kind: 'camera', camera }, transfer),
  );
  readonly screen = new ShownScreen({
    onTrack: (track) => this.#camera.use(track ?? this.devices.camera.track.peek(), track !== null),
    onProblem: (text) => this.store.notify('warning', text),
  });
  #isBegun = false;

  constructor() {
    this.#worker = new Worker(new URL('../worker/caller.ts', import.meta.url), {
      type: 'module',
      name: 'call',
    });
    this.#worker.onmessage = ({ data }: MessageEvent<FromCallWorker>) => this.#on(data);
    this.#worker.onerror = () =>
      this.store.notify('bad', 'A part of this page failed. Reload the page to start it again.');
    effect(() => {
      if (this.devices.isAsked.value) {
        const { microphone, camera, text } = this.devices;
        this.#tell({
          kind: 'devices',
          devices: {
            microphone: microphone.state.value,
            camera: this.screen.track.value === null ? camera.state.value : 'on',
            text: text.value,
          },
        });
      }
    });
    for (const type of ['pointerdown', 'keydown']) {
      document.addEventListener(type, () => this.#sound.peek()?.resume());
    }
  }

  /** Connects, and shows the other end on this canvas. A canvas can be handed over once only. */
  start(canvas: HTMLCanvasElement): void {
    const socketUrl = new URL('socket', document.baseURI);
    socketUrl.protocol = socketUrl.protocol === 'https:' ? 'wss:' : 'ws:';
    const offscreen = canvas.transferControlToOffscreen();
    this.#tell({ kind: 'start', socketUrl: socketUrl.href, canvas: offscreen, tab: tabName() }, [
      offscreen,
    ]);
  }

  get others(): string {
    return peerName(this.store);
  }

  get isOpen(): boolean {
    return this.store.isCall.value && this.store.connection.value.state === 'open';
  }

  get noTexts(): string | null {
    const { takes } = this.store;
    return takes.value?.text === false
      ? `${this.others} gets no texts: their program is older, or has no page.`
      : null;
  }

  get noFiles(): string | null {
    const { takes } = this.store;
    return takes.value?.files === false
      ? `${this.others} gets no files: their program is older, or has no page.`
      : null;
  }

  get filesReport(): FilesReport | null {
    return this.store.screen.value?.files ?? null;
  }

  nameOf(member: number): string {
    return member === this.store.you.value ? 'you' : this.others;
  }

  write(text: string): void {
    this.request({ type: 'text', text });
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

  request(request: CallRequest): void {
    this.#tell({ kind: 'request', request });
  }

  /** Tries again to have the call here. */
  reopen(): void {
    this.store.taken.value = null;
    this.#tell({ kind: 'open' });
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

  #on(message: FromCallWorker): void {
    switch (message.kind) {
      case 'connection':
        this.store.onConnection(message.connection, nowMs());
        if (message.connection.state === 'ended') {
          this.#giveBack();
        }
        return;
      case 'message':
        this.store.onMessage(message.message, nowMs());
        if (message.message.type === 'hello') {
          void this.#begin();
        }
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

  /** Opens sound and devices, once the agent has said which are wanted. */
  async #begin(): Promise<void> {
    const hello = this.store.hello.peek();
    if (this.#isBegun || hello === null) {
      return;
    }
    this.#isBegun = true;
    await this.#openSound();
    const { voice, video } = hello.page_sends;
    await this.devices.open([
      ...(voice ? ['microphone' as const] : []),
      ...(video ? ['camera' as const] : []),
    ]);
    this.#sound.peek()?.resume();
  }

  async #openSound(): Promise<void> {
    try {
      const sound = await CallSound.open(({ level }) => {
        this.store.ourLevel.value = level;
      });
      const { output } = sound.addVoice((report) => this.#onVoice(report));
      const frames = sound.microphoneFrames();
      this.#tell({ kind: 'voice_output', port: output }, [output]);
      this.#tell({ kind: 'microphone', port: frames }, [frames]);
      this.#sound.value = sound;
    } catch {
      this.store.notify('bad', 'This browser gives no sound output, so nobody is heard here.');
    }
  }

  #onVoice({ level, heard, concealed, skewMs }: VoiceReport): void {
    this.store.theirLevel.value = level;
    this.#tell({ kind: 'skew', skewMs });
    this.#tell({ kind: 'voice', heard, concealed });
  }

  #onTrack(kind: Kind, track: MediaStreamTrack | null): void {
    if (kind === 'microphone') {
      this.#sound.peek()?.hear(track);
      this.store.ourLevel.value = 0;
      return;
    }
    if (this.screen.track.peek() === null) {
      this.#camera.use(track);
    }
  }

  /** The call is over, or another page has it: no lamp stays lit here. */
  #giveBack(): void {
    this.screen.close();
    this.devices.close();
    this.#sound.peek()?.close();
    this.#sound.value = null;
    this.#isBegun = false;
  }

  #tell(message: ToCallWorker, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}
