/** Everything that the page of a room shows, as signals. */

import { batch, computed, type Signal, signal } from '@preact/signals';
import { ExchangeStore } from '../../exchange/store';
import type { ConnectionState } from '../../rtc/connection';
import {
  FINAL_REASONS,
  HOST,
  type MemberEntry,
  type Networks,
  type RoomMessage,
} from '../protocol/control';
import type { MemberScreen, RoomScreen } from '../worker/messages';

/** From so loud on somebody speaks, and below this nobody does. */
const LOUD = 0.45;
const QUIET = 0.25;

/** How far the visit is. */
export type Stage =
  /** Nobody is told of us yet. */
  | { readonly is: 'lobby' }
  | { readonly is: 'entering' }
  | { readonly is: 'in' }
  /** There is no way back but anew. */
  | { readonly is: 'out'; readonly why: string };

export class RoomStore extends ExchangeStore {
  readonly stage: Signal<Stage> = signal({ is: 'lobby' });
  readonly connection: Signal<ConnectionState> = signal({ state: 'connecting' });
  /** Whether anything comes from the room. */
  readonly isHeard = signal(true);
  /** Whether this machine has a network, as the browser says. */
  readonly isOnline = signal(true);
  readonly title = signal<string | null>(null);
  readonly listeners = signal<string | null>(null);
  /** Whether we may lock the room and remove others. */
  readonly isHost = signal(false);
  /** Whether nobody else comes in. */
  readonly isLocked = signal(false);
  readonly members = signal<readonly MemberEntry[]>([]);
  readonly screen = signal<RoomScreen | null>(null);
  /** Those of this machine, where an agent tells of them. */
  readonly networks = signal<Networks | null>(null);
  /** From 0 to 1: how loud each of the others is. */
  readonly levels = signal<ReadonlyMap<number, number>>(new Map());
  readonly ourLevel = signal(0);
  readonly view = signal<'grid' | 'speaker'>('grid');
  /** Whom somebody looks at on purpose, or nobody. */
  readonly pinned = signal<number | null>(null);
  readonly #speaker = signal<number | null>(null);
  /** Who is large: whom one chose, or who spoke last, or else the first of the others. */
  readonly large = computed(() => {
    const members = this.members.value;
    const isThere = (number: number | null) => members.some((member) => member.number === number);
    const wanted = [this.pinned.value, this.#speaker.value].find(isThere);
    return this.view.value === 'grid' ? null : (wanted ?? members[0]?.number ?? null);
  });
  readonly people = computed(() => this.members.value.length + 1);

  screenOf(number: number): MemberScreen | undefined {
    return this.screen.value?.members.find((member) => member.number === number);
  }

  onMessage(message: RoomMessage, nowMs: number): void {
    batch(() => {
      switch (message.type) {
        case 'welcome': {
          const { room, you, role, locked, members, texts, files, listeners, now_us } =
            message.body;
          this.offsetMs = nowMs - now_us / 1_000;
          this.stage.value = { is: 'in' };
          this.title.value = room.title;
          this.listeners.value = listeners.text;
          this.you.value = you;
          this.isHost.value = role === HOST;
          this.isLocked.value = locked;
          this.members.value = members;
          this.texts.value = texts;
          this.files.value = files;
          return;
        }
        case 'joined':
          this.#set(message.body.member);
          this.notify('info', `${message.body.member.name} is here.`);
          return;
        case 'away':
          this.#change(message.body.member, { away: true });
          return;
        case 'back':
          this.#change(message.body.member, { away: false });
          return;
        case 'left':
          this.members.value = this.members
            .peek()
            .filter(({ number }) => number !== message.body.member);
          this.files.value = this.files
            .peek()
            .filter(({ member }) => member !== message.body.member);
          this.notify('info', message.body.text);
          return;
        case 'media':
          this.#change(message.body.member, { media: message.body.media });
          return;
        case 'text':
        case 'file':
        case 'file_refused':
        case 'file_gone':
          this.onExchange(message);
          return;
        case 'locked':
          this.isLocked.value = message.body.locked;
          this.notify('info', message.body.text);
          return;
        case 'knocked':
          this.notify('info', `${message.body.name} wants to come in, and the room is locked.`);
          return;
        case 'listeners':
          this.listeners.value = message.body.text;
          return;
        case 'networks':
          this.networks.value = message.body;
          return;
        case 'network_event':
          this.notify(message.body.severity, message.body.text);
          return;
        case 'bye':
          if (FINAL_REASONS.includes(message.body.reason)) {
            this.stage.value = { is: 'out', why: message.body.text };
          } else {
            this.notify('bad', message.body.text);
          }
          return;
        default:
      }
    });
  }

  /** Everybody alike, or one large. */
  toggleView(): void {
    this.pinned.value = null;
    this.view.value = this.view.peek() === 'grid' ? 'speaker' : 'grid';
  }

  /** Makes a member the large one until another one is chosen; once more, and who speaks is. */
  pin(number: number): void {
    this.pinned.value = this.pinned.peek() === number ? null : number;
    this.view.value = 'speaker';
  }

  setLevel(number: number, level: number): void {
    const current = this.levels.peek().get(this.#speaker.peek() ?? -1) ?? 0;
    // Between two words the one who spoke is still the speaker.
    if (level > LOUD && current < QUIET) {
      this.#speaker.value = number;
    }
    this.levels.value = new Map(this.levels.peek()).set(number, level);
  }

  #set(entry: MemberEntry): void {
    const others = this.members.peek().filter(({ number }) => number !== entry.number);
    this.members.value = [...others, entry];
  }

  #change(number: number, change: Partial<MemberEntry>): void {
    this.members.value = this.members
      .peek()
      .map((member) => (member.number === number ? { ...member, ...change } : member));
  }
}
