/** Icons of a room, drawn as those of the other pages. */

import { Icon } from '../../common/icons';

export function ScreenIcon() {
  return (
    <Icon>
      <path d="M2.5 4h15v10h-15zM7 17h6M10 14v3M10 11.5v-5M7.8 8.5L10 6.3l2.2 2.2" />
    </Icon>
  );
}

export function AttachIcon() {
  return (
    <Icon>
      <path d="M15.5 9.2l-5.6 5.6a3.4 3.4 0 0 1-4.8-4.8l6.2-6.2a2.3 2.3 0 0 1 3.2 3.2l-6.1 6.1" />
      <path d="M8.4 13.1a1.1 1.1 0 0 1-1.6-1.6l5.5-5.5" />
    </Icon>
  );
}

export function SpeakerIcon() {
  return (
    <Icon>
      <path d="M2.5 3.5h15v8h-15zM2.5 14h4v3h-4zM8 14h4v3H8zM13.5 14h4v3h-4z" />
    </Icon>
  );
}
