/** Single keys, for whom the mouse is too slow. */

import { CHANNEL_KEYS } from '../channels/keys';
import type { Hello } from '../protocol/program';

export interface ShortcutUser {
  onSound(): void;
  onOverlay(): void;
  onFullScreen(): void;
  onTheme(): void;
  onHelp(): void;
  onCut(path: number): void;
  /** A key of the remote control: whether it is one, here. */
  onRemote(key: string, pressedMs: number): boolean;
}

type Rows = readonly (readonly [key: string, does: string])[];

const ALWAYS: Rows = [
  ['M', 'sound on or off'],
  ['S', 'figures over the picture'],
  ['F', 'full screen'],
  ['T', 'dark or light'],
  ['?', 'this help'],
];

/** As shown in the help. */
export function shortcutsFor(controls: Hello['controls'] | undefined): Rows {
  const cuts: Rows = controls?.links ? [['1 … 9', 'cut or mend that path']] : [];
  return [...cuts, ...(controls?.channels ? CHANNEL_KEYS : []), ...ALWAYS];
}

/** Returns the function that stops listening. */
export function listenToShortcuts(user: ShortcutUser): () => void {
  const actions: Record<string, () => void> = {
    m: user.onSound,
    s: user.onOverlay,
    f: user.onFullScreen,
    t: user.onTheme,
    '?': user.onHelp,
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event)) {
      return;
    }
    if (user.onRemote(event.key, performance.timeOrigin + event.timeStamp)) {
      event.preventDefault();
    } else if (/^[1-9]$/.test(event.key)) {
      user.onCut(Number(event.key));
    } else {
      actions[event.key.toLowerCase()]?.();
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

/** Keys belong to a field into which they write, and those that scroll to a list that does. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) {
    return false;
  }
  const scrolls = /^(Arrow|Page)/.test(key) && target.matches('input, ol');
  return scrolls || target.matches('input[type=number], input[type=search], select, textarea');
}
