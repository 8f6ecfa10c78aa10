/** Everything that the television page shows, as signals. */

import { computed, type Signal, signal } from '@preact/signals';
import { ChannelStore } from '../../channels/store';
import type { Channel, Programme } from '../../protocol/channel';
import type { ConnectionState, Traffic } from '../../rtc/connection';
import type { Description } from '../protocol/control';
import type { PlayerReport } from '../worker/messages';

export class Store extends ChannelStore {
  readonly connection: Signal<ConnectionState> = signal({ state: 'connecting' });
  readonly description = signal<Description | null>(null);
  readonly report = signal<PlayerReport | null>(null);
  readonly traffic = signal<Traffic | null>(null);
  readonly zapMs = signal<number | null>(null);
  /** From opening the page to its first picture. */
  readonly openedMs = signal<number | null>(null);
  readonly thumbnails = signal<ReadonlyMap<number, ImageBitmap>>(new Map());

  /** A channel without pictures plays. */
  readonly isRadio = computed(
    () =>
      this.reception.value.state === 'playing' &&
      this.description.value !== null &&
      this.description.value.video === null,
  );

  byId(id: number): Channel | null {
    return this.channels.value?.find((channel) => channel.id === id) ?? null;
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
}
