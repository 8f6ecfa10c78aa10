import type { Ref } from 'preact';
import type { Kind } from '../../call/capture/words';
import { CameraIcon, HangUpIcon, LockIcon, MicrophoneIcon } from '../../call/ui/icons';
import { ScreenButton } from '../../call/ui/screen-button';
import { Toggle, type ToggleWords } from '../../call/ui/toggle';
import { FullScreenIcon } from '../../common/icons';
import { toggleFullScreen } from '../../ui/full-screen';
import { useRoom } from './context';
import { SpeakerIcon } from './icons';

export function Controls({ box }: { readonly box: Ref<HTMLElement> }) {
  const session = useRoom();
  const { store, devices } = session;
  return (
    <div class="call-controls" role="toolbar" aria-label="Room">
      <DeviceToggle kind="microphone" key_="M" on="Mute" off="Unmute" Icon={MicrophoneIcon} />
      <DeviceToggle kind="camera" key_="V" on="Camera off" off="Camera on" Icon={CameraIcon} />
      <ScreenButton screen={session.screen} />
      <button
        type="button"
        aria-pressed={store.view.value === 'speaker'}
        onClick={() => store.toggleView()}
        title="One person large, the others small; a click on a picture makes it the large one"
        data-testid="view"
      >
        <SpeakerIcon />
        Speaker
      </button>
      {store.isHost.value && <LockButton />}
      <button
        type="button"
        class="hang-up"
        disabled={store.stage.value.is !== 'in'}
        onClick={() => session.leave()}
        data-testid="leave"
      >
        <HangUpIcon />
        Leave
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

/** A host's. */
function LockButton() {
  const session = useRoom();
  const isLocked = session.store.isLocked.value;
  return (
    <button
      type="button"
      aria-pressed={isLocked}
      onClick={() => session.toggleLock()}
      title={isLocked ? 'Let who has a link in again' : 'Let nobody else in'}
      data-testid="lock"
    >
      <LockIcon isClosed={isLocked} />
      {isLocked ? 'Unlock' : 'Lock'}
    </button>
  );
}

interface Props extends ToggleWords {
  readonly kind: Kind;
}

export function DeviceToggle({ kind, ...words }: Props) {
  const session = useRoom();
  const state = session.devices[kind].state.value;
  return <Toggle kind={kind} state={state} {...words} onToggle={() => session.toggle(kind)} />;
}
