import { Logo } from '../../common/icons';
import { clock } from '../../ui/format';
import { PageActions } from '../../ui/page-actions';
import { callStatus, peerName } from '../words';
import { useCall } from './context';
import { LockIcon } from './icons';
import { useClock } from './use-clock';

export function Header() {
  const { store } = useCall();
  const now = useClock(store.isCall.value || store.retryAtMs.value !== null, 250);
  const status = callStatus(store, now);
  const began = store.beganMs.value;
  return (
    <header>
      <h1>
        <Logo />
        anabranch
      </h1>
      {store.isCall.value && <p class="title">{peerName(store)}</p>}
      <p class={`pill ${status.severity}`} data-testid="status" role="status">
        {status.short}
      </p>
      {began !== null && (
        <p class="call-time" role="timer" aria-label="Call time" data-testid="call-time">
          {clock((now - began) / 1000)}
        </p>
      )}
      <Listeners />
      <PageActions />
    </header>
  );
}

/** Who could listen. */
function Listeners() {
  const listeners = useCall().store.state.value?.listeners ?? null;
  if (listeners === null) {
    return null;
  }
  const isSafe = listeners.is === 'nobody';
  return (
    <p
      class={`listeners ${isSafe ? 'good' : 'bad'}`}
      title={listeners.text}
      data-testid="listeners"
    >
      <LockIcon isClosed={isSafe} />
      <span>{listeners.text}</span>
    </p>
  );
}
