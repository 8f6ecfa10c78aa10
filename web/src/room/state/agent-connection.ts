/** Keeps one socket to the agent on this machine, which keeps the way to the room. */

import type { Backoff } from '../../media/backoff';
import { nowMs } from '../../media/now';
import type { ConnectionState } from '../../rtc/connection';

export interface AgentConnectionUser {
  onState(state: ConnectionState): void;
  /** The socket is to be opened. */
  onSocket(attempt: number, url: string): void;
  /** It is of no use any more. */
  onGone(): void;
}

export class AgentConnection {
  readonly #url: string;
  readonly #backoff: Backoff;
  readonly #user: AgentConnectionUser;
  #attempt = 0;
  #retry = 0;

  constructor(url: string, backoff: Backoff, user: AgentConnectionUser) {
    this.#url = url;
    this.#backoff = backoff;
    this.#user = user;
  }

  open(): void {
    this.#attempt += 1;
    this.#user.onState({ state: 'connecting' });
    this.#user.onSocket(this.#attempt, this.#url);
  }

  /** The room let us in. */
  welcomed(): void {
    this.#backoff.reset();
    this.#user.onState({ state: 'open' });
  }

  /** The socket is of no use; `why` is a whole sentence. */
  lost(attempt: number, why: string): void {
    if (attempt !== this.#attempt) {
      return;
    }
    this.close();
    const delayMs = this.#backoff.next();
    this.#user.onState({ state: 'waiting', untilMs: nowMs() + delayMs, why });
    this.#retry = window.setTimeout(() => this.open(), delayMs);
  }

  /** The agent goes over to other networks by itself. */
  restart(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** Nothing is wanted of the agent any more. */
  close(): void {
    window.clearTimeout(this.#retry);
    // What still comes from this one is not news.
    this.#attempt += 1;
    this.#user.onGone();
  }
}

/** Where the agent takes the page's socket. */
export function socketUrl(): string {
  const url = new URL('socket', document.baseURI);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}
