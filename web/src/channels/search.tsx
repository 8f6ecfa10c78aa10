import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { SearchIcon } from '../ui/icons';

export const search = signal('');

/** Where the words stand that a channel of the guide must have. */
export function SearchField({ field }: { readonly field: RefObject<HTMLInputElement | null> }) {
  return (
    <label class="search">
      <SearchIcon />
      <input
        type="search"
        ref={field}
        placeholder="Search ( / )"
        aria-label="Search channels"
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value;
        }}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape') {
            search.value = '';
            currentTarget.blur();
          }
        }}
        data-testid="search"
      />
    </label>
  );
}
