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
