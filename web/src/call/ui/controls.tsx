import type { Ref } from 'preact';
import { FullScreenIcon } from '../../common/icons';
import { toggleFullScreen } from '../../ui/full-screen';
import type { Kind } from '../capture/words';
import { useCall } from './context';
import { CameraIcon, HangUpIcon, MicrophoneIcon } from './icons';
import { ScreenButton } from './screen-button';
import { Toggle, type ToggleWords } from './toggle';

export function Controls({ box }: { readonly box: Ref<HTMLElement> }) {
  const session = useCall();
  const { store, devices } = session;
  const sends = store.hello.value?.page_sends;
  const isOver = store.connection.value.state !== 'open' || store.state.value?.state === 'ended';
  const isCalling = store.state.value?.state === 'calling';
  return (
    <div class="call-controls" role="toolbar" aria-label="Call">
      {sends?.voice !== false && (
        <DeviceToggle kind="microphone" key_="M" on="Mute" off="Unmute" Icon={MicrophoneIcon} />
      )}
      {sends?.video !== false && (
        <DeviceToggle kind="camera" key_="V" on="Camera off" off="Camera on" Icon={CameraIcon} />
      )}
      {sends?.video !== false && <ScreenButton screen={session.screen} />}
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

interface DeviceToggleProps extends ToggleWords {
  readonly kind: Kind;
}

function DeviceToggle({ kind, ...words }: DeviceToggleProps) {
  const session = useCall();
  const state = session.devices[kind].state.value;
  return <Toggle kind={kind} state={state} {...words} onToggle={() => session.toggle(kind)} />;
}
