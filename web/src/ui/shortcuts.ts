/** Single keys, for whom the mouse is too slow. */

export interface ShortcutUser {
  onSound(): void;
  onOverlay(): void;
  onFullScreen(): void;
  onTheme(): void;
  onHelp(): void;
  onCut(path: number): void;
}

/** As shown in the help. */
export const SHORTCUTS: readonly (readonly [key: string, does: string])[] = [
  ['1 … 9', 'cut or mend that path'],
  ['M', 'sound on or off'],
  ['S', 'figures over the picture'],
  ['F', 'full screen'],
  ['T', 'dark or light'],
  ['?', 'this help'],
];

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
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) {
      return;
    }
    if (/^[1-9]$/.test(event.key)) {
      user.onCut(Number(event.key));
    } else {
      actions[event.key.toLowerCase()]?.();
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

/** Keys belong to a field into which they write. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input[type=number], select, textarea');
}
