import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { nowMs } from '../media/now';
import { useSession } from './context';
import { type Status, statusOf } from './status';

const TICK_MS = 250;

/** The status, with a count-down that counts. */
export function useStatus(): Status {
  const { store } = useSession();
  const now = useSignal(nowMs());
  const counting = store.retryAtMs.value !== null || store.peerWait.value !== null;
  useEffect(() => {
    now.value = nowMs();
    if (!counting) {
      return undefined;
    }
    const timer = window.setInterval(() => {
      now.value = nowMs();
    }, TICK_MS);
    return () => window.clearInterval(timer);
  }, [counting, now]);
  return statusOf(store, now.value);
}
