import { describe, expect, it } from 'vitest';
import type { MediaUnit } from '../protocol/media-unit';
import { PictureAssembler } from './pictures';

describe('the assembler', () => {
  it('gives a picture of one layer at once', () => {
    const [picture] = new PictureAssembler().push(unit(5, 0, { last: true, key: true }));
    expect(picture).toMatchObject({ frame: 5, layers: 1, key: true, disposable: false });
    const [spare] = new PictureAssembler().push(unit(6, 0, { last: true, disposable: true }));
    expect(spare?.disposable).toBe(true);
    expect([...(picture?.data ?? [])]).toEqual([0]);
  });

  it('joins base and enhancement', () => {
    const assembler = new PictureAssembler();
    expect(assembler.push(unit(5, 0))).toEqual([]);
    const [picture] = assembler.push(unit(5, 1, { last: true }));
    expect(picture?.layers).toBe(2);
    expect(picture?.data.slice(0, 2)).toEqual(Uint8Array.of(0, 1));
    expect(picture?.base).toEqual(Uint8Array.of(0));
  });

  it('gives a base alone when the next picture begins', () => {
    const assembler = new PictureAssembler();
    assembler.push(unit(5, 0));
    const pictures = assembler.push(unit(6, 0, { last: true }));
    expect(pictures.map(({ frame, layers }) => [frame, layers])).toEqual([
      [5, 1],
      [6, 1],
    ]);
  });

  it('drops an enhancement without its base, and one that skips a layer', () => {
    const assembler = new PictureAssembler();
    expect(assembler.push(unit(5, 1, { last: true }))).toEqual([]);
    assembler.push(unit(6, 0));
    expect(assembler.push(unit(6, 2, { last: true }))).toEqual([]);
    expect(assembler.push(unit(7, 0, { last: true }))).toHaveLength(2);
  });

  it('forgets what it gathered on a reset', () => {
    const assembler = new PictureAssembler();
    assembler.push(unit(5, 0));
    assembler.reset();
    expect(assembler.push(unit(6, 0, { last: true }))).toHaveLength(1);
  });
});

function unit(frame: number, layer: number, flags: Partial<MediaUnit> = {}): MediaUnit {
  return {
    track: 'video',
    layer,
    key: false,
    reference: true,
    disposable: false,
    discontinuity: false,
    last: false,
    frame,
    ptsUs: frame * 40_000,
    playAtUs: frame * 40_000,
    delayMs: 30,
    payload: Uint8Array.of(layer),
    ...flags,
  };
}
