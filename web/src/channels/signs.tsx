/** What lies over the picture for a while. */

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Channel } from '../protocol/channel';

const SIGN_MS = 3_000;

/** Digits of a channel's number, while they are typed. */
export const typing = signal('');

/** Number and name, for a moment after the channel was changed. */
export function ChannelSign({ channel }: { readonly channel: Channel | null }) {
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
