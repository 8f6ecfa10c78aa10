import type { Ref } from 'preact';
import { FullScreenIcon } from '../../common/icons';
import { toggleFullScreen } from '../../ui/full-screen';
import type { Kind } from '../capture/words';
import { useCall } from './context';
import { CameraIcon, HangUpIcon, MicrophoneIcon } from './icons';

export function Controls({ box }: { readonly box: Ref<HTMLElement> }) {
  const session = useCall();
  const { store, devices } = session;
  const sends = store.hello.value?.page_sends;
  const isOver = store.connection.value.state !== 'open' || store.state.value?.state === 'ended';
  const isCalling = store.state.value?.state === 'calling';
  return (
    <div class="call-controls" role="toolbar" aria-label="Call">
      {sends?.voice !== false && (
        <Toggle kind="microphone" key_="M" on="Mute" off="Unmute" Icon={MicrophoneIcon} />
      )}
      {sends?.video !== false && (
        <Toggle kind="camera" key_="V" on="Camera off" off="Camera on" Icon={CameraIcon} />
      )}
      <button
        type="button"
        class="hang-up"
        disabled={isOver || !(store.isCall.value || isCalling)}
        onClick={() => session.request({ type: 'hang_up' })}
        data-testid="hang-up"
      >
        <HangUpIcon />
        Hang up
      </button>
      <button
        type="button"
        class="icon-button"
        onClick={() => toggleFullScreen(typeof box === 'object' ? (box?.current ?? null) : null)}
        aria-label="Full screen (F)"
        title="Full screen (F)"
      >
        <FullScreenIcon />
      </button>
      <p class="visually-hidden" aria-live="polite">
        {devices.microphone.state.value === 'muted' ? 'Your microphone is muted.' : ''}
      </p>
    </div>
  );
}

interface ToggleProps {
  readonly kind: Kind;
  readonly key_: string;
  readonly on: string;
  readonly off: string;
  readonly Icon: typeof MicrophoneIcon;
}

function Toggle({ kind, key_, on, off, Icon }: ToggleProps) {
  const session = useCall();
  const state = session.devices[kind].state.value;
  const words = { on, muted: off, none: `No ${kind}` }[state];
  return (
    <button
      type="button"
      class={`toggle ${state}`}
      onClick={() => session.toggle(kind)}
      title={state === 'none' ? `Try the ${kind} again (${key_})` : `${words} (${key_})`}
      data-testid={kind}
      data-state={state}
    >
      <Icon on={state === 'on'} />
      {words}
    </button>
  );
}
