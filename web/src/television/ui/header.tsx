import type { RefObject } from 'preact';
import { SearchField } from '../../channels/search';
import { HelpIcon, Logo } from '../../common/icons';
import { openHelp } from '../../ui/help-dialog';
import { connectionWord } from '../words';
import { useSession } from './context';

const SEVERITY = { connecting: 'info', open: 'good', waiting: 'bad' } as const;

export function Header({ field }: { readonly field: RefObject<HTMLInputElement | null> }) {
  const session = useSession();
  const { store } = session;
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
      <SearchField field={field} tuner={session} />
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
