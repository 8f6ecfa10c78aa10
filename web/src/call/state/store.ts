/** Everything that the page of a call shows, as signals. */

import { batch, computed, type Signal, signal } from '@preact/signals';
import { ExchangeStore } from '../../exchange/store';
import type { ProgramEvent } from '../../protocol/program';
import type { Connection } from '../../worker/messages';
import type {
  AgentMessage,
  CallHello,
  CallState,
  CallStats,
  Encode,
  Exchange,
} from '../protocol/agent';
import type { CallScreen } from '../worker/messages';

const EVENTS_MAX = 200;

export class CallStore extends ExchangeStore {
  readonly connection: Signal<Connection> = signal({ state: 'connecting' });
  /** When the socket is opened again (epoch, ms). */
  readonly retryAtMs = signal<number | null>(null);
  readonly hello = signal<CallHello | null>(null);
  readonly state = signal<CallState | null>(null);
  readonly stats = signal<CallStats | null>(null);
  readonly encode = signal<Encode | null>(null);
  readonly events = signal<readonly ProgramEvent[]>([]);
  readonly screen = signal<CallScreen | null>(null);
  /** Another page has the call: what the agent said about it. */
  readonly taken = signal<string | null>(null);
  /** When the call began (epoch, ms). */
  readonly beganMs = signal<number | null>(null);
  /** From 0 to 1: what comes out, and what goes in. */
  readonly theirLevel = signal(0);
  readonly ourLevel = signal(0);
  readonly isCall = computed(() => {
    const state = this.state.value?.state;
    return state === 'in_call' || state === 'no_path';
  });
  /** What the other end takes beside voice and pictures; `null` before a call. */
  readonly takes = signal<Exchange['takes'] | null>(null);

  onMessage(message: AgentMessage, nowMs: number): void {
    batch(() => {
      switch (message.type) {
        case 'hello':
          this.#restart(message.body, nowMs);
          return;
        case 'state':
          this.#onState(message.body);
          return;
        case 'stats':
          this.stats.value = message.body;
          return;
        case 'encode':
          this.encode.value = message.body;
          return;
        case 'event':
          this.#onEvent(message.body);
          return;
        case 'error':
          this.notify('bad', message.body.text);
          return;
        case 'exchange':
          this.#onExchangeBegun(message.body);
          return;
        case 'text':
        case 'file':
        case 'file_refused':
        case 'file_gone':
          this.onExchange(message);
          return;
        case 'taken':
          this.taken.value = message.body.text;
          return;
        default:
      }
    });
  }

  onConnection(connection: Connection, nowMs: number): void {
    batch(() => {
      this.connection.value = connection;
      this.retryAtMs.value = connection.state === 'waiting' ? nowMs + connection.retryInMs : null;
    });
  }

  #restart(hello: CallHello, nowMs: number): void {
    this.offsetMs = nowMs - hello.now_us / 1000;
    this.hello.value = hello;
    this.state.value = null;
    this.stats.value = null;
    this.encode.value = null;
    this.events.value = [];
    this.taken.value = null;
    this.beganMs.value = null;
    this.takes.value = null;
    this.texts.value = [];
    this.files.value = [];
  }

  #onExchangeBegun({ you, takes, texts, files }: Exchange): void {
    this.you.value = you;
    this.takes.value = takes;
    this.texts.value = texts;
    this.files.value = files;
  }

  #onState(state: CallState): void {
    this.state.value = state;
    if (!this.isCall.peek()) {
      this.beganMs.value = null;
      this.theirLevel.value = 0;
      // What was written can still be read; files stay where they are.
      this.files.value = [];
      this.takes.value = null;
    } else if (this.beganMs.peek() === null) {
      this.beganMs.value = state.since_us / 1000 + this.offsetMs;
    }
  }

  #onEvent(event: ProgramEvent): void {
    const known = this.events.peek();
    if (!known.some(({ id }) => id === event.id)) {
      this.events.value = [...known, event].slice(-EVENTS_MAX);
    }
  }
}
