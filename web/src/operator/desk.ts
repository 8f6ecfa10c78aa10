/** The operator's desk: asks each second how things stand, and does what the operator wants. */

import { batch, type Signal, signal } from '@preact/signals';
import { Notices } from '../common/notices';
import {
  added,
  type Channel,
  channels,
  type Message,
  messages,
  type NewChannel,
  type NewMessage,
  viewers,
} from './answers';
import { Api, Refused } from './api';
import { type Row, Rows } from './rows';
import { keepToken } from './token';

const EVERY_MS = 1_000;

/** Whether the server takes the token. */
export type Access =
  | { readonly state: 'asking' | 'open' }
  | { readonly state: 'closed'; readonly why: string | null };

const WRONG_TOKEN =
  'The server does not take this token. It prints one when it starts, ' +
  'or takes the one in the file of --operator-token.';

export class Desk extends Notices {
  readonly access: Signal<Access> = signal({ state: 'asking' });
  /** Whether the server answered when it was asked last. */
  readonly answers = signal(true);
  readonly rows = signal<readonly Row[]>([]);
  readonly channels = signal<readonly Channel[]>([]);
  readonly messages = signal<readonly Message[]>([]);
  #api: Api | null = null;
  #rows = new Rows();
  #timer = 0;

  constructor() {
    super();
    // Nobody looks at a page that is hidden, and nobody should wait when it is not.
    document.addEventListener('visibilitychange', () => this.#now());
  }

  /** Begins with this token; an empty one only asks for another. */
  open(token: string): void {
    window.clearTimeout(this.#timer);
    if (token === '') {
      this.#close(null);
      return;
    }
    keepToken(token);
    this.#api = new Api(token);
    this.#rows = new Rows();
    this.access.value = { state: 'asking' };
    this.#now();
  }

  /** Forgets the token. */
  leave(): void {
    this.#close(null);
  }

  /** Adds a channel; returns what is wrong with it, or `null`. */
  async add(channel: NewChannel): Promise<string | null> {
    return this.#try(async (api) => {
      const { number } = await api.create('channels', channel, added);
      this.notify('good', `${number} ${channel.name} is added.`);
    });
  }

  async restart({ number, name }: Channel): Promise<void> {
    await this.#tryAloud(async (api) => {
      await api.order(`channels/${number}/restart`);
      this.notify('info', `${number} ${name} is read anew.`);
    });
  }

  async remove({ number, name }: Channel): Promise<void> {
    await this.#tryAloud(async (api) => {
      await api.remove(`channels/${number}`);
      this.notify('info', `${number} ${name} is removed.`);
    });
  }

  /** Shows an urgent message; returns what is wrong with it, or `null`. */
  async warn(message: NewMessage): Promise<string | null> {
    return this.#try(async (api) => {
      await api.create('urgent', message, (value) => value);
    });
  }

  async endMessage(id: number): Promise<void> {
    await this.#tryAloud((api) => api.remove(`urgent/${id}`));
  }

  #close(why: string | null): void {
    window.clearTimeout(this.#timer);
    this.#api = null;
    keepToken('');
    batch(() => {
      this.access.value = { state: 'closed', why };
      this.rows.value = [];
      this.channels.value = [];
      this.messages.value = [];
    });
  }

  async #try(act: (api: Api) => Promise<void>): Promise<string | null> {
    if (this.#api === null) {
      return 'There is no token.';
    }
    try {
      await act(this.#api);
      return null;
    } catch (error) {
      return error instanceof Refused ? error.message : 'The server does not answer.';
    } finally {
      this.#now();
    }
  }

  async #tryAloud(act: (api: Api) => Promise<void>): Promise<void> {
    const wrong = await this.#try(act);
    if (wrong !== null) {
      this.notify('bad', wrong);
    }
  }

  #now(): void {
    window.clearTimeout(this.#timer);
    const api = this.#api;
    if (api !== null && document.visibilityState === 'visible') {
      void this.#look(api);
    }
  }

  async #look(api: Api): Promise<void> {
    try {
      const standing = await Promise.all([
        api.read('viewers', viewers),
        api.read('channels', channels),
        api.read('urgent', messages),
      ]);
      if (api === this.#api) {
        this.#show(...standing);
      }
    } catch (error) {
      if (api !== this.#api) {
        return;
      }
      if (error instanceof Refused && error.isLocked) {
        this.#close(WRONG_TOKEN);
        return;
      }
      this.answers.value = false;
    }
    this.#again(api);
  }

  #show(
    watching: Parameters<Rows['update']>[0],
    list: readonly Channel[],
    urgent: readonly Message[],
  ): void {
    batch(() => {
      this.rows.value = this.#rows.update(watching, performance.now());
      this.channels.value = list;
      this.messages.value = urgent;
      this.answers.value = true;
      this.access.value = { state: 'open' };
    });
  }

  #again(api: Api): void {
    if (api === this.#api) {
      window.clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#now(), EVERY_MS);
    }
  }
}
