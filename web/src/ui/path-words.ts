/** How a path is named and coloured. */

import type { PathState, Severity } from '../protocol/program';

export const STATE: Readonly<
  Record<PathState, { readonly text: string; readonly severity: Severity }>
> = {
  active: { text: 'Active', severity: 'good' },
  potentially_failed: { text: 'Potentially failed', severity: 'warning' },
  inactive: { text: 'Inactive', severity: 'bad' },
  unconfirmed: { text: 'Unconfirmed', severity: 'info' },
};

const COLOURS = 4;

export function pathName(path: { readonly id: number; readonly name: string | null }): string {
  return path.name ?? `path ${path.id}`;
}

/** The custom property with the colour of the path at this place in the list, from 1. */
export function pathColour(place: number): string {
  return `--path-${((place - 1) % COLOURS) + 1}`;
}
