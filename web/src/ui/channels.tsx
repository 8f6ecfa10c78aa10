import type { RefObject } from 'preact';
import { Guide } from '../channels/guide';
import { SearchField } from '../channels/search';
import { useSession } from './context';

/** What else there is to watch. */
export function Channels({ field }: { readonly field: RefObject<HTMLInputElement | null> }) {
  const session = useSession();
  if (!session.store.hello.value?.controls.channels) {
    return null;
  }
  return (
    <section class="channels card" aria-labelledby="channels-title">
      <div class="channels-head">
        <h2 id="channels-title">Channels</h2>
        <SearchField field={field} tuner={session} />
      </div>
      <Guide tuner={session} />
    </section>
  );
}
