import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { SearchIcon } from '../common/icons';
import { nowMs } from '../media/now';
import { listed, markStepped, meant } from './finding';
import type { Tuner } from './tuner';

/** The words that a channel of the guide must have. */
export const search = signal('');

/** The channel that Enter chooses. */
export const marked = signal<number | null>(null);

interface Props {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly tuner: Tuner;
}

/** Where the words are typed, and where arrows and Enter choose among what was found. */
export function SearchField({ field, tuner }: Props) {
  const found = () => listed(tuner.store.channels.peek() ?? [], search.peek());
  const seek = (words: string) => {
    search.value = words;
    marked.value = meant(found(), words);
  };
  const move = (by: 1 | -1) => {
    marked.value = markStepped(found(), marked.peek(), by);
  };
  const leave = (input: HTMLInputElement) => {
    seek('');
    input.blur();
  };
  const choose = (input: HTMLInputElement) => {
    const { value: number } = marked;
    if (number !== null) {
      leave(input);
      tuner.watch(number, nowMs());
    }
  };
  const keys: Readonly<Record<string, (input: HTMLInputElement) => void>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: choose,
    Escape: leave,
  };
  const channel = tuner.store.channels.value?.find(({ number }) => number === marked.value);
  return (
    <label class="search">
      <SearchIcon />
      <input
        type="search"
        ref={field}
        placeholder="Search ( / )"
        aria-label="Search channels"
        value={search.value}
        onInput={({ currentTarget }) => seek(currentTarget.value)}
        onKeyDown={(event) => {
          if (Object.hasOwn(keys, event.key)) {
            event.preventDefault();
            keys[event.key]?.(event.currentTarget);
          }
        }}
        data-testid="search"
      />
      <span class="visually-hidden" role="status">
        {channel !== undefined && `Enter: ${channel.number} ${channel.name}`}
      </span>
    </label>
  );
}
