import { describe, expect, it } from 'vitest';
import type { MediaMessage } from '../protocol/media';
import { Assembler, OPEN_MAX } from './assembler';
import { picture } from './units';

describe('the assembler', () => {
  it('makes one unit of parts in any order', () => {
    const assembler = begun(1);
    const whole = [2, 0, 2, 0, 1].map((index) => assembler.push(part(1, 7, index, 3)));
    expect(whole.slice(0, 4)).toEqual([null, null, null, null]);
    expect([...(whole[4]?.payload ?? [])]).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it('keeps media that overtakes its description', () => {
    const assembler = new Assembler();
    expect(assembler.push(part(1, 0, 0, 1))).toBeNull();
    expect(frames(assembler.begin(1))).toEqual([0]);
    expect(assembler.push(part(2, 0, 0, 1))).toBeNull();
    expect(assembler.push(part(1, 1, 0, 1))?.header.frame).toBe(1);
    expect(frames(assembler.begin(2))).toEqual([0]);
    expect(assembler.push(part(1, 2, 0, 1))).toBeNull();
  });

  it('takes session 0 for the one after the last', () => {
    const assembler = begun(0xffff);
    expect(assembler.push(part(0, 0, 0, 1))).toBeNull();
    expect(frames(assembler.begin(0))).toEqual([0]);
  });

  it('gives up what never becomes whole, and holds no more than so much', () => {
    const assembler = begun(1);
    for (let frame = 0; frame < 10 * OPEN_MAX; frame++) {
      assembler.push(part(1, frame, 0, 100));
    }
    expect(assembler.givenUp).toBe(9 * OPEN_MAX);
    assembler.push(part(1, 1_000_000, 0, 1));
    expect(assembler.givenUp).toBe(10 * OPEN_MAX);
  });

  it('drops a part that contradicts the others', () => {
    const assembler = begun(1);
    assembler.push(part(1, 0, 1, 3));
    expect(assembler.push(part(1, 0, 0, 1))).toBeNull();
    assembler.push(part(1, 0, 2, 3));
    expect(assembler.push(part(1, 0, 5, 6))).toBeNull();
    expect(assembler.push(part(1, 0, 0, 3))?.payload).toHaveLength(6);
  });

  it('forgets everything when another channel is watched', () => {
    const assembler = begun(1);
    assembler.push(part(1, 0, 0, 2));
    assembler.clear();
    expect(assembler.begin(1)).toEqual([]);
    expect(assembler.push(part(1, 0, 1, 2))).toBeNull();
  });
});

function begun(session: number): Assembler {
  const assembler = new Assembler();
  assembler.begin(session);
  return assembler;
}

function part(session: number, frame: number, index: number, of: number): MediaMessage {
  const { header } = picture(frame, { session, index, last: index + 1 === of });
  return { header, payload: new Uint8Array(2).fill(index) };
}

function frames(units: ReturnType<Assembler['begin']>): number[] {
  return units.map(({ header }) => header.frame);
}
