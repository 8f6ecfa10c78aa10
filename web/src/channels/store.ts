/** What a page knows of channels, as signals. */

import { computed, type Signal, signal } from '@preact/signals';
import { Notices } from '../common/notices';
import type { Channel, Urgent } from '../protocol/channel';
import { byNumber } from './tuner';
import type { Asked, Reception } from './words';

export class ChannelStore extends Notices {
  readonly channels = signal<readonly Channel[] | null>(null);
  /** The key of the channel that is watched; it survives a restart of the server. */
  readonly number = signal<number | null>(null);
  readonly reception: Signal<Reception> = signal({ state: 'idle' });
  readonly urgent = signal<readonly Urgent[]>([]);
  readonly channel = computed(
    () => this.channels.value?.find(({ number }) => number === this.number.value) ?? null,
  );

  /** What was watched when the server took it from the list. */
  readonly #taken = signal<Channel | null>(null);
  /** The channel that was asked for, where it was taken from the list since. */
  readonly taken = computed(() => {
    const taken = this.#taken.value;
    const isAskedFor = this.channel.value === null && taken?.number === this.number.value;
    return isAskedFor ? taken : null;
  });

  readonly asked = computed<Asked>(() => ({
    number: this.number.value,
    channel: this.channel.value,
    taken: this.taken.value,
    hasChannels: (this.channels.value?.length ?? 0) > 0,
  }));

  setChannels(channels: readonly Channel[]): void {
    this.#taken.value = this.channel.peek() ?? this.#taken.peek();
    this.channels.value = byNumber(channels);
  }

  addUrgent(urgent: Urgent): void {
    this.urgent.value = [...this.urgent.peek().filter(({ id }) => id !== urgent.id), urgent];
  }

  removeUrgent(id: number): void {
    this.urgent.value = this.urgent.peek().filter((urgent) => urgent.id !== id);
  }
}
