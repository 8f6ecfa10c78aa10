/** Everything that the television page shows, as signals. */

import { computed, type Signal, signal } from '@preact/signals';
import { byNumber } from '../../channels/tuner';
import type { Reception } from '../../channels/words';
import type { Channel, Programme, Urgent } from '../../protocol/channel';
import { Notices } from '../../state/notices';
import type { ConnectionState, Traffic } from '../connection';
import type { Description } from '../protocol/control';
import type { PlayerReport } from '../worker/messages';

export class Store extends Notices {
  readonly connection: Signal<ConnectionState> = signal({ state: 'connecting' });
  readonly channels = signal<readonly Channel[] | null>(null);
  /** The key of the channel that is watched; it survives a restart of the server. */
  readonly number = signal<number | null>(null);
  readonly reception: Signal<Reception> = signal({ state: 'idle' });
  readonly description = signal<Description | null>(null);
  readonly report = signal<PlayerReport | null>(null);
  readonly traffic = signal<Traffic | null>(null);
  readonly zapMs = signal<number | null>(null);
  /** From opening the page to its first picture. */
  readonly openedMs = signal<number | null>(null);
  readonly urgent = signal<readonly Urgent[]>([]);
  readonly thumbnails = signal<ReadonlyMap<number, ImageBitmap>>(new Map());
  readonly channel = computed(() => this.#numbered(this.number.value));

  byId(id: number): Channel | null {
    return this.channels.value?.find((channel) => channel.id === id) ?? null;
  }

  setChannels(channels: readonly Channel[]): void {
    this.channels.value = byNumber(channels);
  }

  setProgramme(id: number, programme: Programme): void {
    this.channels.value =
      this.channels
        .peek()
        ?.map((channel) => (channel.id === id ? { ...channel, programme } : channel)) ?? null;
  }

  setThumbnail(id: number, picture: ImageBitmap): void {
    const number = this.byId(id)?.number;
    if (number === undefined) {
      picture.close();
      return;
    }
    this.thumbnails.peek().get(number)?.close();
    this.thumbnails.value = new Map(this.thumbnails.peek()).set(number, picture);
  }

  addUrgent(urgent: Urgent): void {
    this.urgent.value = [...this.urgent.peek().filter(({ id }) => id !== urgent.id), urgent];
  }

  removeUrgent(id: number): void {
    this.urgent.value = this.urgent.peek().filter((urgent) => urgent.id !== id);
  }

  #numbered(number: number | null): Channel | null {
    return this.channels.value?.find((channel) => channel.number === number) ?? null;
  }
}
