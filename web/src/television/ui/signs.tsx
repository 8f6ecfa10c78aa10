/** What lies over the picture for a while. */

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { nowMs } from '../../media/now';
import { bannerOf } from '../words';
import { useSession } from './context';

const SIGN_MS = 3_000;
const TICK_MS = 250;

/** Digits of a channel's number, while they are typed. */
export const typing = signal('');

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
  const hasChannels = (store.channels.value?.length ?? 0) > 0;
  const banner = bannerOf(
    connection,
    store.channel.value,
    hasChannels,
    store.reception.value,
    now.value,
  );
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

/** Number and name, for a moment after the channel was changed. */
export function ChannelSign() {
  const { store } = useSession();
  const channel = store.channel.value;
  const visible = useSignal(false);
  useEffect(() => {
    visible.value = channel !== null;
    const timer = window.setTimeout(() => {
      visible.value = false;
    }, SIGN_MS);
    return () => window.clearTimeout(timer);
  }, [channel?.number, visible]);
  return (
    <div class="sign" data-visible={visible.value} aria-hidden="true">
      <b>{channel?.number}</b>
      <span>
        {channel?.name}
        <small>{channel?.programme.now}</small>
      </span>
    </div>
  );
}

export function Typing() {
  return typing.value === '' ? null : (
    <p class="typing" role="status" data-testid="typing">
      {typing.value}
      <i>–</i>
    </p>
  );
}
