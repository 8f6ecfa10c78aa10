/** Pictures of the camera, or of a screen, on their way to the worker that codes them. */

import type { Camera } from '../worker/messages';
import { type Frames, framesByPlaying, framesOf } from './frames';

const FPS_UNKNOWN = 25;
const SCREEN = { width: 1280, height: 720 };

export class CameraFeed {
  /** Hands what the camera sees from now on to the worker; `null` for nothing. */
  readonly #tell: (camera: Camera | null, transfer: Transferable[]) => void;
  #track: MediaStreamTrack | null = null;
  #isPlayed = false;
  #isScreen = false;

  constructor(tell: (camera: Camera | null, transfer: Transferable[]) => void) {
    this.#tell = tell;
  }

  use(track: MediaStreamTrack | null, isScreen = false): void {
    this.#track = track;
    this.#isScreen = isScreen;
    this.#isPlayed = false;
    if (track === null) {
      this.#tell(null, []);
    } else {
      this.#send(track, framesOf(track));
    }
  }

  /** Takes the pictures from a player, where the processor of tracks brings none. */
  play(): void {
    if (this.#track !== null && !this.#isPlayed) {
      this.#isPlayed = true;
      this.#send(this.#track, framesByPlaying(this.#track));
    }
  }

  #send(track: MediaStreamTrack, frames: Frames): void {
    const { width = SCREEN.width, height = SCREEN.height, frameRate } = track.getSettings();
    const fps = Math.max(1, Math.round(frameRate ?? FPS_UNKNOWN));
    this.#tell({ frames, width, height, fps, isScreen: this.#isScreen }, [frames]);
  }
}
