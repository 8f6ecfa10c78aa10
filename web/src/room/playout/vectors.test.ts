/** The playout of a member against the vectors that the Rust one made and is held to. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { MediaHeader } from '../../television/protocol/media';
import { MemberPlayout, type Played } from './playout';

const FOLDER = new URL('../../../../crates/call/tests/playout-vectors/', import.meta.url);

type Class = 'voice' | 'key' | 'reference' | 'disposable';
type Arrival = [
  nowUs: number,
  session: number,
  Class,
  frame: number,
  index: number,
  last: boolean,
  references: number,
  atUs: number,
];

interface Vector {
  readonly poll_us: number;
  readonly until_us: number;
  /** When voice is muted, and behind which frame. */
  readonly muted: readonly [atUs: number, frame: number] | null;
  readonly counts: Readonly<Record<'heard' | 'concealed' | 'late' | 'shown' | 'lost', number>>;
  readonly in: readonly Arrival[];
  readonly out: readonly (readonly unknown[])[];
}

it.each(readdirSync(FOLDER))('plays what %s says, when it says so', (name) => {
  const vector: Vector = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
  const out: unknown[] = [];
  const playout = new MemberPlayout();
  let polledUs = 0;
  const pollUntil = (untilUs: number) => {
    for (;;) {
      const nowUs = Math.min(polledUs, untilUs);
      for (let played = playout.poll(nowUs); played !== null; played = playout.poll(nowUs)) {
        out.push(row(nowUs, played));
      }
      if (nowUs === untilUs) {
        return;
      }
      polledUs += vector.poll_us;
    }
  };
  let muted = vector.muted;
  for (const arrival of vector.in) {
    if (muted !== null && muted[0] <= arrival[0]) {
      pollUntil(muted[0]);
      playout.voice.muteFrom(muted[1]);
      muted = null;
    }
    pollUntil(arrival[0]);
    playout.push(arrival[0], { header: headerOf(arrival), payload: new Uint8Array(1) });
    pollUntil(arrival[0]);
  }
  pollUntil(vector.until_us);
  expect(out).toEqual(vector.out);
  const { heard, concealed, late } = playout.voice;
  const { shown, lost } = playout.pictures;
  expect({ heard, concealed, late, shown, lost }).toEqual(vector.counts);
});

function headerOf(arrival: Arrival): MediaHeader {
  const [, session, unitClass, frame, index, last, references, atUs] = arrival;
  return {
    track: unitClass === 'voice' ? 'audio' : 'video',
    layer: 0,
    key: unitClass === 'key' || unitClass === 'voice',
    reference: unitClass === 'key' || unitClass === 'reference',
    lastLayer: true,
    discontinuity: false,
    session,
    frame,
    index,
    last,
    references,
    ptsUs: 0,
    atUs,
  };
}

function row(nowUs: number, played: Played): unknown[] {
  const voice = played.payload === null ? 'concealed' : 'voice';
  const seen = played.track === 'video' && played.discontinuity ? 'gap' : 'picture';
  return [nowUs, played.track === 'audio' ? voice : seen, played.frame, played.playAtUs];
}
