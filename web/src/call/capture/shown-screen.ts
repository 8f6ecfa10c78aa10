/** A screen or a window of this machine that is shown instead of the camera. */

import { signal } from '@preact/signals';

/** What is written is to be read; it seldom moves. */
const SCREEN = { width: { max: 1_920 }, height: { max: 1_080 }, frameRate: { max: 10 } } as const;

export interface ShownScreenUser {
  /** It is shown from now on; `null`: it is not any more. */
  onTrack(track: MediaStreamTrack | null): void;
  onProblem(text: string): void;
}

export class ShownScreen {
  /** What is shown; `null` for nothing. */
  readonly track = signal<MediaStreamTrack | null>(null);
  readonly #user: ShownScreenUser;

  constructor(user: ShownScreenUser) {
    this.#user = user;
  }

  /** Whether this browser can show one. */
  get isPossible(): boolean {
    return navigator.mediaDevices?.getDisplayMedia !== undefined;
  }

  /** Shows a screen or a window, and the other way round. */
  async toggle(): Promise<void> {
    if (this.track.peek() !== null) {
      this.#use(null);
      return;
    }
    try {
      const stream = await navigator.mediaDevices.getDisplayMedia({ video: SCREEN, audio: false });
      const [track = null] = stream.getVideoTracks();
      // The browser has a button of its own that ends it.
      track?.addEventListener('ended', () => this.#use(null));
      this.#use(track);
    } catch (error) {
      // Who changed their mind knows.
      if (!(error instanceof DOMException && error.name === 'NotAllowedError')) {
        this.#user.onProblem('This browser gives no screen to show.');
      }
    }
  }

  /** Nothing is shown any more, and nobody is told. */
  close(): void {
    this.track.peek()?.stop();
    this.track.value = null;
  }

  #use(track: MediaStreamTrack | null): void {
    this.track.peek()?.stop();
    this.track.value = track;
    this.#user.onTrack(track);
  }
}
