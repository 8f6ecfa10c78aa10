/** Icons of the call, drawn as those of the other pages. */

import { Icon } from '../../common/icons';

export function MicrophoneIcon({ on }: { readonly on: boolean }) {
  return (
    <Icon>
      <path d="M7.5 5a2.5 2.5 0 0 1 5 0v4.5a2.5 2.5 0 0 1-5 0z" />
      <path d="M4.5 9.5a5.5 5.5 0 0 0 11 0M10 15v2.5" />
      {!on && <path d="M3 3l14 14" />}
    </Icon>
  );
}

export function CameraIcon({ on }: { readonly on: boolean }) {
  return (
    <Icon>
      <path d="M2.5 5.5h9.5v9H2.5zM12 9l5.5-3v8L12 11" />
      {!on && <path d="M3 3l14 14" />}
    </Icon>
  );
}

export function HangUpIcon() {
  return (
    <Icon>
      <path
        class="solid"
        d="M2.2 12.6c4-4.6 11.6-4.6 15.6 0l-2 2.4-3.1-1.5v-2.1a8 8 0 0 0-5.4 0v2.1L4.2 15z"
      />
    </Icon>
  );
}

export function LockIcon({ isClosed }: { readonly isClosed: boolean }) {
  return (
    <Icon>
      <path d={isClosed ? 'M6.5 9V6.5a3.5 3.5 0 0 1 7 0V9' : 'M6.5 9V6.5a3.5 3.5 0 0 1 6.8-1.2'} />
      <path class="solid" d="M4.5 9h11v8h-11z" />
    </Icon>
  );
}

export function ScreenIcon() {
  return (
    <Icon>
      <path d="M2.5 4h15v10h-15zM7 17h6M10 14v3M10 11.5v-5M7.8 8.5L10 6.3l2.2 2.2" />
    </Icon>
  );
}
