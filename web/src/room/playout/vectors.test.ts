/** The playout of a member against the vectors that the Rust one made and is held to. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { MediaHeader } from '../../television/protocol/media';
import { MemberPlayout, type Played } from './playout';

const FOLDER = new URL('../../../../crates/call/tests/playout-vectors/', import.meta.url);

const FRAME_US = 20_000;

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

/** Sound and picture of one moment are no farther apart. */
const LIPS_US = 40_000;

/** Pictures of which a part comes later than that: they are seen when it is there. */
const LATE = new Map([['part-late.json', 2]]);

const NAMES = readdirSync(FOLDER);

function read(name: string): Vector {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
}

it.each(NAMES)('plays what %s says, when it says so', (name) => {
  const vector = read(name);
  const { out, playout } = play(vector);
  expect(out.map(([nowUs, played]) => row(nowUs, played))).toEqual(vector.out);
  const { heard, concealed, late } = playout.voice;
  const { shown, lost } = playout.pictures;
  expect({ heard, concealed, late, shown, lost }).toEqual(vector.counts);
});

it.each(NAMES)('has lips move with the voice in %s', (name) => {
  const skews = lips(play(read(name)).out.map(([, played]) => played));
  expect(skews.length).toBeGreaterThan(40);
  const apart = skews.filter((skewUs) => Math.abs(skewUs) > LIPS_US);
  expect(apart.length).toBe(LATE.get(name) ?? 0);
});

/** By how many microseconds each picture is behind the voice of the same moment. */
function lips(all: readonly Played[]): number[] {
  const voice = all.filter(({ track, payload }) => track === 'audio' && payload !== null);
  const pictures = all.filter(({ track }) => track === 'video');
  return pictures.flatMap(({ capturedUs, playAtUs }) => {
    const skews = voice
      .filter((it) => Math.abs(it.capturedUs - capturedUs) < FRAME_US)
      .map((it) => playAtUs - capturedUs - (it.playAtUs - it.capturedUs));
    // A sender that began anew says the same times again.
    const [least] = skews.sort((a, b) => Math.abs(a) - Math.abs(b));
    return least === undefined ? [] : [least];
  });
}

function play(vector: Vector): { out: [nowUs: number, Played][]; playout: MemberPlayout } {
  const out: [number, Played][] = [];
  const playout = new MemberPlayout();
  let polledUs = 0;
  const pollUntil = (untilUs: number) => {
    for (;;) {
      const nowUs = Math.min(polledUs, untilUs);
      for (let played = playout.poll(nowUs); played !== null; played = playout.poll(nowUs)) {
        out.push([nowUs, played]);
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
  return { out, playout };
}

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
