/** The page's sound: off until the user wants it. */

import { signal } from '@preact/signals';
import type { ToOutput } from './messages';
import { Speaker, type SpeakerFormat } from './speaker';

export interface SoundUser {
  tell(message: ToOutput, transfer?: Transferable[]): void;
  /** This browser gives no sound output. */
  onFailure(): void;
}

export class Sound {
  readonly isOn = signal(false);
  readonly #user: SoundUser;
  #speaker: Speaker | null = null;
  #opening = false;

  constructor(user: SoundUser) {
    this.#user = user;
  }

  /** Must be called from a key or a click the first time: browsers play no sound otherwise. */
  async open(format: SpeakerFormat, volume = 1): Promise<void> {
    if (this.#opening || this.#speaker !== null) {
      return;
    }
    this.#opening = true;
    try {
      this.#speaker = await Speaker.open(format, {
        onSkew: (skewMs) => this.#user.tell({ kind: 'skew', skewMs }),
      });
      this.#speaker.setVolume(volume);
      this.isOn.value = true;
      this.#user.tell({ kind: 'sound', port: this.#speaker.port }, [this.#speaker.port]);
    } catch {
      this.#user.onFailure();
    } finally {
      this.#opening = false;
    }
  }

  setVolume(volume: number): void {
    this.#speaker?.setVolume(volume);
  }

  close(): void {
    this.#speaker?.close();
    this.#speaker = null;
    this.isOn.value = false;
    this.#user.tell({ kind: 'sound', port: null });
  }
}
