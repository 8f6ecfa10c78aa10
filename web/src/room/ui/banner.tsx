import { useClock } from '../../call/ui/use-clock';
import { roomStatus } from '../words';
import { useRoom } from './context';

/** What keeps one from being in the room. */
export function Banner() {
  const session = useRoom();
  const { store } = session;
  const now = useClock(store.connection.value.state === 'waiting', 250);
  const { long, severity } = roomStatus(
    store.stage.value,
    store.connection.value,
    { isHeard: store.isHeard.value, isOnline: store.isOnline.value },
    now,
  );
  if (long === null) {
    return session.isSilenced.value ? (
      <p class="held-back" role="alert">
        <span>The browser holds the sound back. Press any key, or click here.</span>
      </p>
    ) : null;
  }
  return (
    <div class="call-banner">
      <p data-testid="banner" role={severity === 'bad' ? 'alert' : 'status'}>
        {long}
      </p>
      {store.stage.value.is === 'out' && (
        <button type="button" onClick={() => location.reload()} data-testid="again">
          Enter again
        </button>
      )}
    </div>
  );
}
