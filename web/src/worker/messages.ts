/** What passes between the page's main thread and its worker. */

import type { ToOutput } from '../audio/messages';
import type { ProgramMessage } from '../protocol/program';
import type { PageRequest } from '../protocol/requests';

export type ToWorker =
  | {
      readonly kind: 'start';
      readonly socketUrl: string;
      readonly canvas: OffscreenCanvas;
    }
  | { readonly kind: 'request'; readonly request: PageRequest }
  | ToOutput;

export type FromWorker =
  | { readonly kind: 'connection'; readonly connection: Connection }
  | { readonly kind: 'message'; readonly message: LiveMessage }
  | { readonly kind: 'screen'; readonly report: ScreenReport }
  /** A whole sentence about something that the page could not do. */
  | { readonly kind: 'problem'; readonly text: string };

/** What the program says while the stream lasts; its last words end the connection. */
export type LiveMessage = Exclude<ProgramMessage, { readonly type: 'ended' }>;

/** The state of the socket. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'open' }
  | { readonly state: 'waiting'; readonly retryInMs: number }
  | { readonly state: 'ended'; readonly text: string };

/** What is on the screen and how it got there, whatever is played. */
export interface OutputReport {
  readonly shown: number;
  readonly dropped: number;
  /** Pictures that a decoder that was behind was spared, in whole or in part. */
  readonly spared: number;
  readonly decodeErrors: number;
  readonly fps: number;
  readonly kbps: number;
  /** Layers of the picture that is on the screen now; 0 before the first one. */
  readonly layers: number;
  readonly width: number;
  readonly height: number;
  readonly longestGapMs: number | null;
  readonly skewMs: number | null;
}

/** Five times a second. */
export interface ScreenReport extends OutputReport {
  /** The pictures since the last report, in order: their layers; 0: never came, or in vain. */
  readonly pictures: readonly number[];
}
