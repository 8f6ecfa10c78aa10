/** Keeps one connection to the server: data channels, offered by HTTP. */

import { sentence } from '../common/sentences';
import type { Backoff } from '../media/backoff';
import { nowMs } from '../media/now';
import { Liveness } from './liveness';

const SETUP_MS = 8_000;
const WATCH_EVERY_MS = 1_000;
/** Where a request takes longer, the network on which it left is gone. */
const RESTART_MS = 1_500;

/** As the interface shows it. */
export type ConnectionState =
  | { readonly state: 'connecting' }
  | { readonly state: 'open' }
  | { readonly state: 'waiting'; readonly untilMs: number; readonly why: string };

/** What the browser measures. */
export interface Traffic {
  readonly roundTripMs: number | null;
  readonly receivedBytes: number;
}

/** Where a connection leads. */
export interface Server {
  /** Where offers are made. */
  readonly url: string;
  /** What entitles to more than is open to all. */
  readonly token: string | null;
  /** The data channels, by their ids from 0. */
  readonly channels: readonly RTCDataChannelInit[];
}

/** How far a connection is. */
export type Step = 'offer' | 'answer' | 'connected';

export interface ConnectionUser {
  onState(state: ConnectionState): void;
  onStep?(step: Step): void;
  /** New channels, which open soon. */
  onChannels(attempt: number, channels: readonly RTCDataChannel[]): void;
  /** They are of no use any more. */
  onGone(): void;
  onTraffic(traffic: Traffic): void;
}

export class Connection {
  readonly #user: ConnectionUser;
  readonly #server: Server;
  /** How long to wait for the next try. */
  readonly #backoff: Backoff;
  #attempt = 0;
  #peer: RTCPeerConnection | null = null;
  /** Where the server ends the session. */
  #location: string | null = null;
  #timers: number[] = [];
  #retry = 0;
  /** Whether somebody asked for a connection, and does not do without by now. */
  #isWanted = false;
  #left = false;

  constructor(server: Server, backoff: Backoff, user: ConnectionUser) {
    this.#server = server;
    this.#backoff = backoff;
    this.#user = user;
    window.addEventListener('pagehide', () => this.#leave());
    window.addEventListener('pageshow', ({ persisted }) => {
      if (persisted && this.#isWanted) {
        this.open();
      }
    });
    window.addEventListener('online', () => this.#retryNow());
  }

  open(): void {
    this.#isWanted = true;
    this.#left = false;
    this.#attempt += 1;
    this.#user.onState({ state: 'connecting' });
    void this.#connect(this.#attempt);
  }

  /** The server let us in. */
  welcomed(): void {
    this.#backoff.reset();
    this.#user.onState({ state: 'open' });
    this.#every(WATCH_EVERY_MS, this.#watch(new Liveness()));
  }

  /** What was connected is of no use; `why` is a whole sentence. */
  lost(attempt: number, why: string): void {
    if (attempt !== this.#attempt || this.#left) {
      return;
    }
    // What still comes from this one is not news.
    this.#attempt += 1;
    this.#close();
    this.#user.onGone();
    const delayMs = this.#backoff.next();
    this.#user.onState({ state: 'waiting', untilMs: nowMs() + delayMs, why });
    this.#retry = window.setTimeout(() => this.open(), delayMs);
  }

  /**
   * Goes on from another network, if there is one: ICE is restarted, and what is connected stays.
   * Returns whether the server knows; whether it can be reached then shows by what comes from it.
   */
  async restart(): Promise<boolean> {
    const [attempt, peer, location] = [this.#attempt, this.#peer, this.#location];
    if (peer === null || location === null) {
      return false;
    }
    try {
      peer.restartIce();
      await peer.setLocalDescription();
      const response = await fetch(`${location}/restart`, {
        method: 'POST',
        headers: { 'content-type': 'application/sdp' },
        body: peer.localDescription?.sdp ?? '',
        signal: AbortSignal.timeout(RESTART_MS),
      });
      if (!response.ok || attempt !== this.#attempt) {
        return false;
      }
      await peer.setRemoteDescription({ type: 'answer', sdp: await response.text() });
      return true;
    } catch {
      // The server cannot be reached now; the caller tries again.
      return false;
    }
  }

  async #connect(attempt: number): Promise<void> {
    try {
      const peer = new RTCPeerConnection();
      this.#peer = peer;
      peer.onconnectionstatechange = () => this.#onPeerState(attempt, peer);
      // They can be handed to a worker only right after they are made.
      this.#user.onChannels(attempt, this.#openChannels(peer));
      this.#after(SETUP_MS, () => this.#setupOver(attempt));
      await peer.setLocalDescription();
      const answer = await this.#offer(peer.localDescription?.sdp ?? '');
      if (attempt === this.#attempt) {
        await peer.setRemoteDescription({ type: 'answer', sdp: answer });
      }
    } catch (error) {
      this.lost(attempt, error instanceof Refused ? error.message : 'The server does not answer.');
    }
  }

  async #offer(sdp: string): Promise<string> {
    this.#user.onStep?.('offer');
    const headers = new Headers({ 'content-type': 'application/sdp' });
    const { url, token } = this.#server;
    if (token !== null) {
      headers.set('authorization', `Bearer ${token}`);
    }
    const response = await fetch(url, { method: 'POST', headers, body: sdp });
    const text = await response.text();
    if (response.status !== 201) {
      const words = text.slice(0, 300) || `status ${response.status}`;
      throw new Refused(sentence(`The server refuses: ${words}`));
    }
    this.#location = response.headers.get('location');
    this.#user.onStep?.('answer');
    return text;
  }

  #openChannels(peer: RTCPeerConnection): RTCDataChannel[] {
    return this.#server.channels.map((options, id) =>
      peer.createDataChannel('', { ...options, negotiated: true, id }),
    );
  }

  #onPeerState(attempt: number, peer: RTCPeerConnection): void {
    if (peer.connectionState === 'connected') {
      this.#user.onStep?.('connected');
    } else if (peer.connectionState === 'failed') {
      this.lost(attempt, 'The connection to the server is lost.');
    }
  }

  #setupOver(attempt: number): void {
    if (this.#peer?.connectionState !== 'connected') {
      this.lost(attempt, 'The server answers, but no media port of it can be reached from here.');
    }
  }

  #watch(liveness: Liveness): () => void {
    const attempt = this.#attempt;
    return () => {
      void this.#peer?.getStats().then((report) => {
        const { received, ...traffic } = trafficOf(report);
        this.#user.onTraffic(traffic);
        if (!liveness.isAlive(received, nowMs())) {
          this.lost(attempt, 'Nothing comes from the server any more.');
        }
      });
    };
  }

  #retryNow(): void {
    if (this.#peer === null && !this.#left && this.#isWanted) {
      window.clearTimeout(this.#retry);
      this.open();
    }
  }

  /** Nothing is wanted of the server any more. */
  close(): void {
    this.#isWanted = false;
    this.#leave();
  }

  /** The page is going away. */
  #leave(): void {
    this.#left = true;
    this.#close('?leaves');
  }

  /** Ends what is connected; `query` tells the server more about it. */
  #close(query = ''): void {
    window.clearTimeout(this.#retry);
    for (const timer of this.#timers) {
      window.clearInterval(timer);
    }
    this.#timers = [];
    this.#peer?.close();
    this.#peer = null;
    if (this.#location !== null) {
      // Also while the page is going away. A server that is gone needs no telling.
      fetch(`${this.#location}${query}`, { method: 'DELETE', keepalive: true }).catch(
        () => undefined,
      );
      this.#location = null;
    }
  }

  #after(delayMs: number, then: () => void): void {
    this.#timers.push(window.setTimeout(then, delayMs));
  }

  #every(periodMs: number, then: () => void): void {
    this.#timers.push(window.setInterval(then, periodMs));
  }
}

/** The server's own words. */
class Refused extends Error {}

function trafficOf(report: RTCStatsReport): Traffic & { readonly received: number } {
  let traffic = { roundTripMs: null as number | null, receivedBytes: 0, received: 0 };
  report.forEach((stats) => {
    if (stats.type === 'candidate-pair' && stats.nominated) {
      const { currentRoundTripTime, bytesReceived = 0, responsesReceived = 0 } = stats;
      traffic = {
        roundTripMs: currentRoundTripTime === undefined ? null : currentRoundTripTime * 1000,
        receivedBytes: bytesReceived,
        received: bytesReceived + responsesReceived,
      };
    }
  });
  return traffic;
}
