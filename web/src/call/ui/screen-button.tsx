import type { ShownScreen } from '../capture/shown-screen';
import { ScreenIcon } from './icons';

/** Shows a screen, where the browser can. */
export function ScreenButton({ screen }: { readonly screen: ShownScreen }) {
  if (!screen.isPossible) {
    return null;
  }
  const isShown = screen.track.value !== null;
  return (
    <button
      type="button"
      aria-pressed={isShown}
      onClick={() => void screen.toggle()}
      title="Show a screen or a window instead of the camera"
      data-testid="screen"
    >
      <ScreenIcon />
      {isShown ? 'Stop showing' : 'Show screen'}
    </button>
  );
}
