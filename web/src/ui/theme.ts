/** Dark or light: as the system says, until the user chooses. */

import { effect, signal } from '@preact/signals';

const STORED_AS = 'anabranch-theme';
const preference = window.matchMedia('(prefers-color-scheme: dark)');

export type Theme = 'dark' | 'light';

export const theme = signal<Theme>(stored() ?? system());

preference.addEventListener('change', () => {
  if (stored() === null) {
    theme.value = system();
  }
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function switchTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(STORED_AS, theme.value);
  } catch {
    // A browser that stores nothing forgets the choice on reload; the choice itself holds.
  }
}

/** The colour that a custom property has now, for drawing on a canvas. */
export function colour(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

function system(): Theme {
  return preference.matches ? 'dark' : 'light';
}

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(STORED_AS);
    return value === 'dark' || value === 'light' ? value : null;
  } catch {
    return null;
  }
}
