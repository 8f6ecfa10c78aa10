/** What passes between the main thread of a call's page and its worker. */

import type { FilesReport } from '../../exchange/files/desk';
import type { Connection } from '../../worker/messages';
import type { Frames } from '../capture/frames';
import type { AgentMessage, Device } from '../protocol/agent';
import type { CallRequest } from '../protocol/requests';

export type ToCallWorker =
  | {
      readonly kind: 'start';
      readonly socketUrl: string;
      readonly canvas: OffscreenCanvas;
      /** Tells this tab from others, also after it was reloaded. */
      readonly tab: string;
    }
  /** Tries again what another page had taken. */
  | { readonly kind: 'open' }
  | { readonly kind: 'request'; readonly request: CallRequest }
  /** The port of the sound output. */
  | { readonly kind: 'voice_output'; readonly port: MessagePort }
  /** The port on which frames of the microphone come. */
  | { readonly kind: 'microphone'; readonly port: MessagePort }
  /** What the camera sees from now on; `null` for nothing. */
  | { readonly kind: 'camera'; readonly camera: Camera | null }
  | { readonly kind: 'devices'; readonly devices: Devices }
  /** Has these for the other end. */
  | { readonly kind: 'offer_files'; readonly files: readonly File[] }
  | { readonly kind: 'withdraw_file'; readonly file: number }
  | { readonly kind: 'get_file'; readonly file: number }
  | { readonly kind: 'stop_file'; readonly sha256: string }
  | { readonly kind: 'skew'; readonly skewMs: number | null }
  | { readonly kind: 'voice'; readonly heard: number; readonly concealed: number };

export interface Camera {
  readonly frames: Frames;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** Pictures of a screen come only when something changes there. */
  readonly isScreen: boolean;
}

export interface Devices {
  readonly microphone: Device;
  readonly camera: Device;
  /** Why there is none, in words. */
  readonly text: string | null;
}

export type FromCallWorker =
  | { readonly kind: 'connection'; readonly connection: Connection }
  | { readonly kind: 'message'; readonly message: AgentMessage }
  | { readonly kind: 'screen'; readonly report: CallScreen }
  /** The camera is open, but has brought no picture for long. */
  | { readonly kind: 'camera_silent' }
  /** A file is here, whole and right. */
  | { readonly kind: 'file'; readonly name: string; readonly blob: Blob }
  /** A whole sentence about something that the page could not do. */
  | { readonly kind: 'problem'; readonly text: string };

/** What is seen and sent, five times a second. */
export interface CallScreen {
  readonly shown: number;
  readonly fps: number;
  readonly width: number;
  readonly height: number;
  readonly decodeErrors: number;
  readonly sentPictures: number;
  readonly sentKeys: number;
  readonly sentVoice: number;
  readonly sentHeight: number;
  readonly skewMs: number | null;
  readonly files: FilesReport;
}
