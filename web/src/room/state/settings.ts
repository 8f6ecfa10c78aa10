/** What the browser remembers from one visit to the next. */

const NAME = 'anabranch.room.name';

/** What the person calls themselves; nothing where the browser remembers nothing. */
export function rememberedName(): string {
  try {
    return localStorage.getItem(NAME) ?? '';
  } catch {
    return '';
  }
}

export function rememberName(name: string): void {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // It is asked for again.
  }
}

const TAB = 'anabranch.room.tab';

/** Tells this tab from others, also after it was reloaded. */
export function tabName(): string {
  const made = crypto.getRandomValues(new Uint32Array(4)).join('-');
  try {
    const known = sessionStorage.getItem(TAB) ?? made;
    sessionStorage.setItem(TAB, known);
    return known;
  } catch {
    return made;
  }
}
