import type { RefObject } from 'preact';
import { HelpIcon, Logo, SearchIcon } from '../../ui/icons';
import { connectionWord } from '../words';
import { useSession } from './context';
import { search } from './guide';
import { openHelp } from './help';

const SEVERITY = { connecting: 'info', open: 'good', waiting: 'bad' } as const;

export function Header({ field }: { readonly field: RefObject<HTMLInputElement | null> }) {
  const { store } = useSession();
  const connection = store.connection.value;
  return (
    <header>
      <h1>
        <Logo />
        anabranch
      </h1>
      <p class={`pill ${SEVERITY[connection.state]}`} role="status" data-testid="status">
        {connectionWord(connection)}
      </p>
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
          data-testid="search"
        />
      </label>
      <button
        type="button"
        class="icon-button"
        onClick={openHelp}
        aria-label="Help with keys (?)"
        title="Help (?)"
        data-testid="help"
      >
        <HelpIcon />
      </button>
    </header>
  );
}
