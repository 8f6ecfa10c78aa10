/** Icons of a room, drawn as those of the other pages. */

import { Icon } from '../../common/icons';

export function ScreenIcon() {
  return (
    <Icon>
      <path d="M2.5 4h15v10h-15zM7 17h6M10 14v3M10 11.5v-5M7.8 8.5L10 6.3l2.2 2.2" />
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
