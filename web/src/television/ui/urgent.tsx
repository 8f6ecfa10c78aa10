import { useEffect } from 'preact/hooks';
import type { Urgent } from '../protocol/control';
import { useSession } from './context';

/** Over the picture, whatever is on. */
export function UrgentMessages() {
  const { store } = useSession();
  return (
    <div class="urgent" role="alert" data-testid="urgent">
      {store.urgent.value.map((urgent) => (
        <Message key={urgent.id} urgent={urgent} />
      ))}
    </div>
  );
}

function Message({ urgent }: { readonly urgent: Urgent }) {
  const session = useSession();
  const { id, level, text } = urgent;
  useEffect(() => onceVisible(() => session.seen(id)), [session, id]);
  return (
    <div class={level} data-testid={`urgent-${id}`}>
      <b>{level === 'alarm' ? 'Alarm' : 'Notice'}</b>
      <p>{text}</p>
      <button type="button" onClick={() => session.store.removeUrgent(id)}>
        Close
      </button>
    </div>
  );
}

/** Calls `then` once when the page is on the screen; returns what takes that back. */
function onceVisible(then: () => void): () => void {
  const check = () => {
    if (document.visibilityState === 'visible') {
      document.removeEventListener('visibilitychange', check);
      then();
    }
  };
  document.addEventListener('visibilitychange', check);
  check();
  return () => document.removeEventListener('visibilitychange', check);
}
