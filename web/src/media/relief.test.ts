import { describe, expect, it } from 'vitest';
import { BEHIND_FROM, CAUGHT_UP_AT, type Load, PATIENCE_MS, Relief } from './relief';

const DISPOSABLE = { disposable: true, layers: 1 };
const REFERENCE = { disposable: false, layers: 1 };
const LAYERED = { disposable: false, layers: 2 };

describe('the relief of a decoder', () => {
  it('asks nothing of one that keeps up', () => {
    const relief = new Relief();
    for (let atMs = 0; atMs < 2_000; atMs += 40) {
      expect(relief.of(DISPOSABLE, BEHIND_FROM - 1, atMs)).toBe('whole');
    }
  });

  it('bears with a decoder that gets many pictures at once', () => {
    const relief = new Relief();
    expect(relief.of(DISPOSABLE, 30, 0)).toBe('whole');
    expect(relief.of(DISPOSABLE, 12, PATIENCE_MS - 1)).toBe('whole');
    expect(relief.of(DISPOSABLE, BEHIND_FROM - 1, PATIENCE_MS)).toBe('whole');
    expect(relief.of(DISPOSABLE, 30, PATIENCE_MS + 40)).toBe('whole');
  });

  it('spares it disposable pictures and enhancements, and nothing else, until it caught up', () => {
    const relief = fallenBehind();
    const loads = (waiting: number): Load[] =>
      [DISPOSABLE, LAYERED, REFERENCE].map((picture) => relief.of(picture, waiting, 500));
    expect(loads(BEHIND_FROM)).toEqual(['none', 'base', 'whole']);
    expect(loads(CAUGHT_UP_AT + 1)).toEqual(['none', 'base', 'whole']);
    expect(loads(CAUGHT_UP_AT)).toEqual(['whole', 'whole', 'whole']);
    expect(loads(BEHIND_FROM)).toEqual(['whole', 'whole', 'whole']);
  });

  it('knows nothing of what came before a reset', () => {
    const relief = fallenBehind();
    relief.reset();
    expect(relief.of(DISPOSABLE, BEHIND_FROM, PATIENCE_MS)).toBe('whole');
  });
});

function fallenBehind(): Relief {
  const relief = new Relief();
  relief.of(REFERENCE, BEHIND_FROM, 0);
  expect(relief.of(DISPOSABLE, BEHIND_FROM, PATIENCE_MS)).toBe('none');
  return relief;
}
