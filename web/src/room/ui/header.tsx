import { LockIcon } from '../../call/ui/icons';
import { useClock } from '../../call/ui/use-clock';
import { Logo } from '../../common/icons';
import { PageActions } from '../../ui/page-actions';
import { peopleWords, roomStatus } from '../words';
import { useRoom } from './context';

export function Header() {
  const { store } = useRoom();
  const now = useClock(store.connection.value.state === 'waiting', 250);
  const reach = { isHeard: store.isHeard.value, isOnline: store.isOnline.value };
  const status = roomStatus(store.stage.value, store.connection.value, reach, now);
  return (
    <header>
      <h1>
        <Logo />
        anabranch
      </h1>
      {store.title.value !== null && <p class="title">{store.title.value}</p>}
      <p class={`pill ${status.severity}`} data-testid="status" role="status">
        {status.short}
      </p>
      {store.stage.value.is === 'in' && (
        <p class="people" data-testid="people">
          {peopleWords(store.people.value)}
        </p>
      )}
      {store.isLocked.value && (
        <p class="pill warning" title="Nobody else comes in" data-testid="locked">
          Locked
        </p>
      )}
      {store.listeners.value !== null && (
        <p class="listeners" title={store.listeners.value} data-testid="listeners">
          <LockIcon isClosed />
          <span>{store.listeners.value}</span>
        </p>
      )}
      <PageActions />
    </header>
  );
}
