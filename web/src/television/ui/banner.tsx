import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { nowMs } from '../../media/now';
import { bannerOf } from '../words';
import { useSession } from './context';

const TICK_MS = 250;

/** Why there is nothing to see. */
export function Banner() {
  const { store } = useSession();
  const connection = store.connection.value;
  const now = useSignal(nowMs());
  const counts = connection.state === 'waiting';
  useEffect(() => {
    now.value = nowMs();
    const timer = counts ? window.setInterval(() => (now.value = nowMs()), TICK_MS) : 0;
    return () => window.clearInterval(timer);
  }, [connection, counts, now]);
  const banner = bannerOf(connection, store.asked.value, store.reception.value, now.value);
  if (banner === null) {
    return null;
  }
  return (
    <div class={banner.isWait ? 'banner wait' : 'banner'} role="status" data-testid="banner">
      <p>{banner.text}</p>
      {banner.link !== null && (
        <p>
          <a href={banner.link}>Open it in another player</a>
        </p>
      )}
    </div>
  );
}
