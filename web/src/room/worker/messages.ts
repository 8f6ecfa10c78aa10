/** What passes between the main thread of a room's page and its worker. */

import type { NetworkRequest } from '../../call/protocol/requests';
import type { Camera, Devices } from '../../call/worker/messages';
import type { FilesReport } from '../../exchange/files/desk';
import type { Bridged, Sendable } from '../../rtc/link';
import type { RoomMessage } from '../protocol/control';

export type ToRoomWorker =
  /** `tab` is the same after the page was reloaded, and another one in another tab. */
  | { readonly kind: 'start'; readonly name: string; readonly tab: string }
  | {
      readonly kind: 'connect';
      readonly attempt: number;
      /** The data channels by their ids, or null where only the main thread can hold them. */
      readonly channels: readonly RTCDataChannel[] | null;
    }
  /** Where the agent on this machine is, which takes the place of data channels. */
  | { readonly kind: 'connect_to_agent'; readonly attempt: number; readonly url: string }
  | { readonly kind: 'network_request'; readonly request: NetworkRequest }
  | Bridged
  | { readonly kind: 'disconnect' }
  /** Where a member's pictures are shown. */
  | { readonly kind: 'canvas'; readonly member: number; readonly canvas: OffscreenCanvas }
  /** Where a member's voice is heard. */
  | { readonly kind: 'voice_output'; readonly member: number; readonly port: MessagePort }
  /** How far a member's voice is from its time. */
  | { readonly kind: 'skew'; readonly member: number; readonly skewMs: number | null }
  /** The port on which frames of the microphone come. */
  | { readonly kind: 'microphone'; readonly port: MessagePort }
  /** What the camera sees from now on; `null` for nothing. */
  | { readonly kind: 'camera'; readonly camera: Camera | null }
  | { readonly kind: 'devices'; readonly devices: Devices }
  | { readonly kind: 'write'; readonly text: string }
  /** What others may have of this machine. */
  | { readonly kind: 'offer_files'; readonly files: readonly File[] }
  | { readonly kind: 'withdraw_file' | 'get_file'; readonly file: number }
  | { readonly kind: 'stop_file'; readonly sha256: string }
  | { readonly kind: 'lock'; readonly locked: boolean }
  | { readonly kind: 'remove'; readonly member: number }
  | { readonly kind: 'leave' };

export type FromRoomWorker =
  | { readonly kind: 'message'; readonly message: RoomMessage }
  /** Whether anything comes from the room: its beats, at least. */
  | { readonly kind: 'hearing'; readonly isHeard: boolean }
  /** The connection is of no use any more. */
  | { readonly kind: 'lost'; readonly attempt: number; readonly why: string }
  /** To be sent on a data channel that the main thread holds. */
  | { readonly kind: 'say'; readonly stream: number; readonly data: Sendable }
  | { readonly kind: 'screen'; readonly report: RoomScreen }
  /** Somebody's file is here, whole. */
  | { readonly kind: 'file'; readonly name: string; readonly blob: Blob }
  /** The camera is open, but has brought no picture for long. */
  | { readonly kind: 'camera_silent' }
  /** A whole sentence about something that the page could not do. */
  | { readonly kind: 'problem'; readonly text: string };

/** What is seen and sent, five times a second. */
export interface RoomScreen {
  readonly members: readonly MemberScreen[];
  readonly sentPictures: number;
  readonly sentVoice: number;
  readonly sentHeight: number;
  /** What the encoder of pictures is asked for. */
  readonly videoBps: number;
  readonly files: FilesReport;
}

export interface MemberScreen {
  readonly number: number;
  readonly shown: number;
  readonly fps: number;
  readonly height: number;
  readonly concealed: number;
  readonly heard: number;
  readonly lost: number;
  readonly voiceDelayMs: number;
  readonly skewMs: number | null;
}
