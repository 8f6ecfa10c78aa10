/** The playout against the vectors that the Rust one made and is held to. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { MediaHeader, Track } from '../protocol/media';
import { Playout, type Released } from './playout';
import { picture } from './units';

const FOLDER = new URL('../../../../crates/television/tests/playout-vectors/', import.meta.url);

type Input =
  | [nowUs: number, kind: 'connect', atUs: number, budgetUs: number]
  | [nowUs: number, kind: 'begin', hasPictures: boolean]
  | [nowUs: number, kind: 'budget', budgetUs: number]
  | [nowUs: number, Track, ...UnitFields];
type UnitFields = [
  frame: number,
  layer: number,
  flags: string,
  references: number,
  ptsUs: number,
  atUs: number,
];

interface Vector {
  readonly poll_us: number;
  readonly until_us: number;
  readonly counts: { readonly pictures: number; readonly missing: number; readonly late: number };
  readonly in: readonly Input[];
  readonly out: readonly (readonly unknown[])[];
}

it.each(readdirSync(FOLDER))('hands out what %s says, when it says so', (name) => {
  const vector: Vector = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
  const out: unknown[] = [];
  let nowUs = 0;
  const playout: Playout = new Playout((released) => {
    out.push(row(nowUs, released));
    playout.shown(released.ptsUs, nowUs);
  });
  let polled = 0;
  const pollUntil = (untilUs: number) => {
    for (;;) {
      nowUs = Math.min(polled * vector.poll_us, untilUs);
      playout.poll(nowUs);
      if (nowUs === untilUs) {
        return;
      }
      polled += 1;
    }
  };
  for (const input of vector.in) {
    pollUntil(input[0]);
    apply(playout, input);
    pollUntil(input[0]);
  }
  pollUntil(vector.until_us);
  expect(out).toEqual(vector.out);
  const { pictures, lost: missing, late } = playout;
  expect({ pictures, missing, late }).toEqual(vector.counts);
});

function apply(playout: Playout, input: Input): void {
  const [nowUs] = input;
  switch (input[1]) {
    case 'connect':
      playout.connect(input[3]);
      playout.observe(nowUs, input[2]);
      return;
    case 'begin':
      playout.begin(input[2]);
      return;
    case 'budget':
      playout.setBudget(input[2]);
      return;
    default: {
      const [, track, frame, layer, flags, references, ptsUs, atUs] = input;
      const fields = { track, layer, references, ptsUs, atUs, ...fromFlags(flags) };
      playout.push(picture(frame, fields), nowUs);
    }
  }
}

function fromFlags(flags: string): Partial<MediaHeader> {
  const [key, reference] = [flags.includes('k'), flags.includes('r')];
  return { key, reference, lastLayer: flags.includes('l'), discontinuity: flags.includes('d') };
}

function row(nowUs: number, released: Released): unknown[] {
  const { track, frame, layers, playAtUs, discontinuity } = released;
  return [nowUs, track, frame, layers.length, playAtUs, discontinuity];
}
