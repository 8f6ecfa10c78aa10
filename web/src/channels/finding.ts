/** Which channels the guide lists, in which order, and which of them a search means. */

import type { Channel } from '../protocol/channel';

/** Channels whose number, name, group or programme has all the words. */
function matching(channels: readonly Channel[], search: string): readonly Channel[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return channels.filter(({ number, name, group, programme }) => {
    const text = [number, name, group, programme.now, programme.next].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Groups in the order of their first channels. */
export function grouped(channels: readonly Channel[]): [group: string, members: Channel[]][] {
  const groups = new Map<string, Channel[]>();
  for (const channel of channels) {
    const group = channel.group ?? '';
    groups.set(group, [...(groups.get(group) ?? []), channel]);
  }
  return [...groups];
}

/** What the guide lists, from top to bottom. */
export function listed(channels: readonly Channel[], search: string): readonly Channel[] {
  return grouped(matching(channels, search)).flatMap(([, members]) => members);
}

/** What Enter chooses before an arrow was pressed: the channel of that number, else the first. */
export function meant(list: readonly Channel[], search: string): number | null {
  const text = search.trim();
  const exact = list.find(({ number }) => String(number) === text);
  return text === '' ? null : ((exact ?? list[0])?.number ?? null);
}

/** The channel so many lines below the marked one; from none, the first or the last. */
export function markStepped(
  list: readonly Channel[],
  mark: number | null,
  by: 1 | -1,
): number | null {
  const at = list.findIndex(({ number }) => number === mark);
  const from = at < 0 && by < 0 ? 0 : at;
  return list[(from + by + list.length) % list.length]?.number ?? null;
}
