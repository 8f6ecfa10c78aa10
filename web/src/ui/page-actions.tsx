import { HelpIcon, ThemeIcon } from '../common/icons';
import { openHelp } from './help-dialog';
import { switchTheme, theme } from './theme';

/** What every page with a help has at the end of its header. */
export function PageActions() {
  return (
    <nav aria-label="Page">
      <button
        type="button"
        class="icon-button"
        onClick={switchTheme}
        aria-label={theme.value === 'dark' ? 'Light colours (T)' : 'Dark colours (T)'}
        title="Dark or light (T)"
      >
        <ThemeIcon />
      </button>
      <button
        type="button"
        class="icon-button"
        onClick={openHelp}
        aria-label="Help (?)"
        title="Help (?)"
      >
        <HelpIcon />
      </button>
    </nav>
  );
}
