import { describe, expect, it } from 'vitest';

const files = import.meta.glob<string>(['./*/**/*.{ts,tsx}', '!./**/*.test.ts'], {
  eager: true,
  import: 'default',
  query: '?raw',
});

/** The folder of `src` that a path within it, as of `import`, leads into. */
function folderOf(path: string): string {
  return new URL(path, 'file:///').pathname.split('/')[1] ?? '';
}

/** Of each folder of `src`, the others that its files import. */
function dependencies(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [file, text] of Object.entries(files)) {
    const folder = folderOf(file);
    const others = found.get(folder) ?? new Set();
    for (const [, path] of text.matchAll(/(?:from|import|URL\()\s*'(\.[^']+)'/g)) {
      others.add(folderOf(new URL(path ?? '', `file:///${file}`).pathname));
    }
    others.delete(folder);
    found.set(folder, others);
  }
  return found;
}

/** All folders that one leads to, by however many others. */
function reachable(start: string, graph: Map<string, Set<string>>): Set<string> {
  const found = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (!found.has(folder)) {
      found.add(folder);
      waiting.push(...(graph.get(folder) ?? []));
    }
  }
  return found;
}

/** The folders that lead back to themselves. */
function inCircles(graph: Map<string, Set<string>>): string[] {
  return [...graph.keys()].filter((folder) => reachable(folder, graph).has(folder));
}

describe('the folders of the pages', () => {
  it('depend on each other one way', () => {
    const graph = dependencies();
    expect([...(graph.get('television') ?? [])]).toContain('worker');
    expect(inCircles(graph)).toEqual([]);
  });

  it('would be seen in a circle', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c', 'd'])],
      ['c', new Set<string>()],
      ['d', new Set(['a'])],
    ]);
    expect(inCircles(graph)).toEqual(['a', 'b', 'd']);
  });
});
