/** Icons of a room, drawn as those of the other pages. */

import { Icon } from '../../common/icons';

export function SpeakerIcon() {
  return (
    <Icon>
      <path d="M2.5 3.5h15v8h-15zM2.5 14h4v3h-4zM8 14h4v3H8zM13.5 14h4v3h-4z" />
    </Icon>
  );
}
