/** The files of a call in its worker: one desk for each person at the other end. */

import { type DeskUser, FileDesk } from '../../exchange/files/desk';
import type { PartStore } from '../../exchange/files/kept-parts';
import type { ExchangeMessage } from '../../exchange/protocol';
import { nowMs } from '../../media/now';
import type { CallState, Exchange } from '../protocol/agent';

export class CallFiles {
  readonly #user: DeskUser;
  readonly #parts: () => PartStore;
  #desk: FileDesk;
  /** By whose key we know the other end; `null` before a call, and without encryption. */
  #key: string | null = null;

  constructor(user: DeskUser, parts: () => PartStore) {
    [this.#user, this.#parts] = [user, parts];
    this.#desk = this.#fresh();
  }

  get desk(): FileDesk {
    return this.#desk;
  }

  /** What is there in a call that has begun, or is gone on with. */
  onExchange({ you, files }: Exchange, key: string | null): void {
    // What was for one is not offered to another who calls next.
    if (key === null || key !== this.#key) {
      this.#desk = this.#fresh();
    }
    this.#key = key;
    this.#desk.onWelcome(you, files, nowMs());
  }

  /** The call is over; who was lost, and calls again, goes on where it was. */
  onOver(why: CallState['why']): void {
    this.#desk.onLost();
    if (why === 'hung_up' || why === 'peer_hung_up') {
      this.#desk.leave();
      this.#desk = this.#fresh();
      this.#key = null;
    }
  }

  onMessage(message: ExchangeMessage): void {
    if (message.type === 'file') {
      this.#desk.onFile(message.body, nowMs());
    } else if (message.type === 'file_gone') {
      this.#desk.onGone(message.body.file);
    }
  }

  #fresh(): FileDesk {
    return new FileDesk(this.#user, this.#parts());
  }
}
