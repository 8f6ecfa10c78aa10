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
