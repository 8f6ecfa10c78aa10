import type { Kind } from '../capture/words';
import type { Device } from '../protocol/agent';
import type { MicrophoneIcon } from './icons';

export interface ToggleWords {
  readonly key_: string;
  readonly on: string;
  readonly off: string;
  readonly Icon: typeof MicrophoneIcon;
}

interface Props extends ToggleWords {
  readonly kind: Kind;
  readonly state: Device;
  readonly onToggle: () => void;
}

/** Switches a microphone or a camera off and on; one that is not there is tried again. */
export function Toggle({ kind, state, key_, on, off, Icon, onToggle }: Props) {
  const words = { on, muted: off, none: `No ${kind}` }[state];
  return (
    <button
      type="button"
      class={`toggle ${state}`}
      onClick={onToggle}
      title={state === 'none' ? `Try the ${kind} again (${key_})` : `${words} (${key_})`}
      data-testid={kind}
      data-state={state}
    >
      <Icon on={state === 'on'} />
      {words}
    </button>
  );
}
