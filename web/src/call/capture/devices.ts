/** Camera, microphone and loudspeaker: which there are, which are used, and why one is not. */

import { batch, computed, type Signal, signal } from '@preact/signals';
import type { Device } from '../protocol/agent';
import { deviceWords, type Kind } from './words';

export interface Choice {
  readonly id: string;
  readonly label: string;
}

/** Larger and faster than any rate of a call is enough for. */
const CONSTRAINTS = {
  microphone: {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
  },
  camera: {
    width: { ideal: 1280 },
    height: { ideal: 720 },
    frameRate: { ideal: 25, max: 30 },
  },
} as const satisfies Record<Kind, MediaTrackConstraints>;

const LISTED = { microphone: 'audioinput', camera: 'videoinput', loudspeaker: 'audiooutput' };
export type Listed = keyof typeof LISTED;

export interface DevicesUser {
  /** What is captured from now on; `null` for nothing. */
  onTrack(kind: Kind, track: MediaStreamTrack | null): void;
}

class Source {
  readonly track = signal<MediaStreamTrack | null>(null);
  readonly isMuted = signal(false);
  readonly why = signal<string | null>(null);
  /** Whether another try may do better without the user. */
  mayComeBack = false;
  readonly state = computed<Device>(() => {
    if (this.isMuted.value) {
      return this.why.value === null ? 'muted' : 'none';
    }
    return this.track.value === null ? 'none' : 'on';
  });
}

export class MediaDevicesOfPage {
  readonly microphone = new Source();
  readonly camera = new Source();
  readonly lists: Signal<Readonly<Record<Listed, readonly Choice[]>>> = signal({
    microphone: [],
    camera: [],
    loudspeaker: [],
  });
  readonly chosen = signal<Readonly<Partial<Record<Listed, string>>>>({});
  /** Whether the browser was asked already. */
  readonly isAsked = signal(false);
  readonly text = computed(() => {
    const why = [this.microphone.why.value, this.camera.why.value];
    return why.filter((text) => text !== null).join(' ') || null;
  });
  readonly #user: DevicesUser;
  #wanted: readonly Kind[] = [];

  constructor(user: DevicesUser) {
    this.#user = user;
    navigator.mediaDevices?.addEventListener('devicechange', () => void this.#onChange());
  }

  /** Asks the browser for these, with one question. */
  async open(wanted: readonly Kind[]): Promise<void> {
    this.#wanted = wanted;
    if (wanted.length > 1) {
      try {
        this.#use(await this.#capture(wanted));
      } catch {
        // One by one, to know which cannot be had; the other can.
        await this.#openEach(wanted);
      }
    } else {
      await this.#openEach(wanted);
    }
    this.isAsked.value = true;
    await this.#list();
  }

  /** Uses the device with this id instead. */
  async choose(kind: Kind, id: string): Promise<void> {
    this.chosen.value = { ...this.chosen.value, [kind]: id };
    const source = this[kind];
    source.isMuted.value = kind === 'camera' ? false : source.isMuted.value;
    source.track.value?.stop();
    await this.#openEach([kind]);
    await this.#list();
  }

  /** Tries again what was not to be had. */
  async retry(kind: Kind): Promise<void> {
    await this.#openEach([kind]);
    await this.#list();
  }

  /** A muted microphone stays open, silent; a camera that is off is closed, its lamp dark. */
  async toggle(kind: Kind): Promise<void> {
    const source = this[kind];
    const isMuted = !source.isMuted.peek();
    if (kind === 'microphone') {
      source.isMuted.value = isMuted;
      if (source.track.value !== null) {
        source.track.value.enabled = !isMuted;
      }
    } else if (isMuted) {
      batch(() => {
        source.isMuted.value = true;
        this.#forget('camera');
      });
    } else {
      await this.#openEach(['camera']);
      source.isMuted.value = false;
    }
  }

  /** Gives all of them back. */
  close(): void {
    for (const kind of this.#wanted) {
      this.#forget(kind);
    }
    this.isAsked.value = false;
  }

  async #openEach(kinds: readonly Kind[]): Promise<void> {
    for (const kind of kinds) {
      try {
        this.#use(await this.#capture([kind]));
      } catch (error) {
        this.#lose(kind, error instanceof Error ? error.name : String(error));
      }
    }
  }

  async #capture(kinds: readonly Kind[]): Promise<MediaStream> {
    const { mediaDevices } = navigator;
    if (mediaDevices === undefined) {
      throw Object.assign(new Error(), { name: 'Insecure' });
    }
    const constraints = (kind: Kind) => {
      const id = this.chosen.peek()[kind];
      const device = id === undefined ? {} : { deviceId: { exact: id } };
      return kinds.includes(kind) && { ...CONSTRAINTS[kind], ...device };
    };
    return mediaDevices.getUserMedia({
      audio: constraints('microphone'),
      video: constraints('camera'),
    });
  }

  #use(stream: MediaStream): void {
    for (const track of stream.getTracks()) {
      const kind = track.kind === 'audio' ? 'microphone' : 'camera';
      const source = this[kind];
      track.addEventListener('ended', () => {
        if (source.track.peek() === track) {
          this.#lose(kind, 'Unplugged');
        }
      });
      track.enabled = kind === 'camera' || !source.isMuted.peek();
      batch(() => {
        source.track.value = track;
        source.why.value = null;
        const { deviceId } = track.getSettings();
        this.chosen.value = { ...this.chosen.value, ...(deviceId && { [kind]: deviceId }) };
      });
      this.#user.onTrack(kind, track);
    }
  }

  #lose(kind: Kind, error: string): void {
    const source = this[kind];
    batch(() => {
      source.why.value = deviceWords(kind, error);
      source.mayComeBack = error === 'Unplugged' || error === 'NotFoundError';
      this.#forget(kind);
    });
  }

  #forget(kind: Kind): void {
    const source = this[kind];
    source.track.value?.stop();
    source.track.value = null;
    this.#user.onTrack(kind, null);
  }

  /** Something was plugged in or out. */
  async #onChange(): Promise<void> {
    if (!this.isAsked.peek()) {
      return;
    }
    await this.#list();
    for (const kind of this.#wanted) {
      const source = this[kind];
      if (source.why.peek() !== null && source.mayComeBack && this.lists.peek()[kind].length > 0) {
        const { [kind]: _, ...others } = this.chosen.peek();
        this.chosen.value = others;
        await this.#openEach([kind]);
      }
    }
  }

  async #list(): Promise<void> {
    const all = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
    const of = (listed: Listed): Choice[] =>
      all
        .filter(({ kind, deviceId }) => kind === LISTED[listed] && deviceId !== '')
        .map(({ deviceId, label }, index) => ({
          id: deviceId,
          label: label || `${listed} ${index + 1}`,
        }));
    this.lists.value = {
      microphone: of('microphone'),
      camera: of('camera'),
      loudspeaker: of('loudspeaker'),
    };
  }
}
