import { useSignal } from '@preact/signals';
import { Choose } from '../../call/ui/devices';
import { CameraIcon, MicrophoneIcon } from '../../call/ui/icons';
import { rememberedName } from '../state/settings';
import { ByProgram } from './by-program';
import { useRoom } from './context';
import { DeviceToggle } from './controls';
import { DeviceTrouble } from './device-trouble';
import { OwnPicture } from './own-picture';

const NAME_CHARS_MAX = 60;

/** Before the door: who one is, and what one sends. */
export function Lobby() {
  const session = useRoom();
  const { devices } = session;
  const name = useSignal(rememberedName());
  const enter = (event: Event) => {
    event.preventDefault();
    const called = name.value.trim();
    if (called !== '') {
      void session.enter(called);
    }
  };
  return (
    <main class="lobby">
      <section class="card stage" aria-label="How you will be seen">
        <div class="preview" data-testid="self-view">
          <OwnPicture />
        </div>
        <div class="call-controls" role="toolbar" aria-label="Devices">
          <DeviceToggle kind="microphone" key_="M" on="Mute" off="Unmute" Icon={MicrophoneIcon} />
          <DeviceToggle kind="camera" key_="V" on="Camera off" off="Camera on" Icon={CameraIcon} />
        </div>
      </section>
      <form class="card panel" onSubmit={enter}>
        <h2>Enter the room</h2>
        <label class="choose">
          <span>Your name</span>
          <input
            type="text"
            required
            maxLength={NAME_CHARS_MAX}
            autocomplete="name"
            value={name.value}
            onInput={({ currentTarget }) => {
              name.value = currentTarget.value;
            }}
            data-testid="name"
          />
        </label>
        {(['microphone', 'camera'] as const).map((kind) => (
          <Choose
            key={kind}
            devices={devices}
            kind={kind}
            onChoose={(listed, id) => session.choose(listed, id)}
          />
        ))}
        <DeviceTrouble />
        <button type="submit" class="enter" data-testid="enter">
          Enter
        </button>
        <p class="muted">
          Voice and pictures are encrypted on their way. Who runs this room could listen.
        </p>
        <ByProgram />
      </form>
    </main>
  );
}
