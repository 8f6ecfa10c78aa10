/** Single keys, for whom the mouse is too slow. */

export interface KeysUser {
  onMicrophone(): void;
  onCamera(): void;
  onFullScreen(): void;
  onTheme(): void;
  onHelp(): void;
}

/** As shown in the help. Nothing hangs up by one key: that would be done by mistake. */
export const KEYS = [
  ['M', 'mute or unmute the microphone'],
  ['V', 'camera off or on'],
  ['F', 'full screen'],
  ['T', 'dark or light'],
  ['?', 'this help'],
] as const;

/** Returns the function that stops listening. */
export function listenToKeys(user: KeysUser): () => void {
  const actions: Record<string, () => void> = {
    m: user.onMicrophone,
    v: user.onCamera,
    f: user.onFullScreen,
    t: user.onTheme,
    '?': user.onHelp,
  };
  const onKey = (event: KeyboardEvent) => {
    const isOurs = !(event.ctrlKey || event.metaKey || event.altKey || event.repeat);
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select');
    if (isOurs && !isTyping) {
      actions[event.key.toLowerCase()]?.();
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}
