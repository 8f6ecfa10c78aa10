/**
 * What is received, handed to the decoders in order and in time: the rules of
 * `crates/television/src/viewer/playout.rs`, digit for digit. Both are held to the vectors of
 * `crates/television/tests/playout-vectors`. The page's own is that its time stands still until
 * the first picture is on the screen. Times are whole microseconds.
 */

import { isEnoughFor, type MediaHeader, type Track } from '../protocol/media';
import type { Unit } from './assembler';
import { type Place, RESTART_AHEAD_US, Timeline } from './timeline';

/** A decoder gets what is whole so long before it is to be seen or heard. */
const AHEAD_US = 160_000;
/** What is missing is waited for until so long before the time of what follows. */
const GUARD_US = 40_000;
/** How long the first picture waits for what refines it. */
const ENTRY_WAIT_US = 40_000;
/** Sound alone begins so late: a third of a second of it may come at once. */
const SOUND_ALONE_AHEAD_US = 400_000;
/** What is next is farther ahead than this: the server left much out. */
const STALL_US = 450_000;
/** Pictures, in the order of decoding, of which the last may be the first to be seen. */
const REORDER_MAX = 8;
/** What waits for its time, more than the longest groups of pictures have. */
const WAITING_MAX = 2_048;
/** A decoder that shows nothing for so long does not hold up the sound. */
const FIRST_PICTURE_US = 700_000;

const TRACKS: readonly Track[] = ['video', 'audio'];

/** One picture or frame of sound, with what came of it in time. */
export interface Released {
  readonly track: Track;
  readonly frame: number;
  readonly key: boolean;
  /** Something that it may refer to is missing. */
  readonly discontinuity: boolean;
  /** Nothing is predicted from it. */
  readonly disposable: boolean;
  readonly ptsUs: number;
  readonly playAtUs: number;
  /** From the base upwards, without a gap. */
  readonly layers: readonly Uint8Array[];
}

interface Waiting {
  readonly frame: number;
  readonly sinceUs: number;
  /** By their numbers. */
  readonly layers: (Unit | undefined)[];
}

/** What leaves next of a track. */
interface Next {
  readonly base: MediaHeader;
  /** The first that is seen, of it and those after it. */
  readonly place: Place;
  readonly dueUs: number;
  readonly leavesUs: number;
}

export class Playout {
  readonly #user: (released: Released) => void;
  readonly #time = new Timeline();
  #entryTrack: Track = 'video';
  /** The first picture, and when it was handed out. */
  #entry: { readonly header: MediaHeader; readonly atUs: number } | null = null;
  #isShown = false;
  /** In order of their numbers. */
  #waiting: Record<Track, Waiting[]> = { video: [], audio: [] };
  /** What comes next. */
  #next: Record<Track, number | null> = { video: null, audio: null };
  #lastPicture: MediaHeader | null = null;
  #last: Place | null = null;
  /** Pictures that never came, those that came after their time, and the others. */
  lost = 0;
  late = 0;
  pictures = 0;

  constructor(user: (released: Released) => void) {
    this.#user = user;
  }

  /** Another server. */
  connect(budgetUs: number): void {
    this.#time.connect(budgetUs);
    this.begin(true);
  }

  /** The server's clock showed `atUs` in something that is here now. */
  observe(nowUs: number, atUs: number): void {
    this.#time.observe(nowUs, atUs);
  }

  /** Another latency budget, while it runs: it is reached by playing faster or slower. */
  setBudget(budgetUs: number): void {
    this.#time.setBudget(budgetUs, this.#last);
  }

  /** Another channel, or another epoch of this one. */
  begin(hasVideo: boolean): void {
    this.#entryTrack = hasVideo ? 'video' : 'audio';
    this.#time.stop();
    this.#entry = null;
    this.#isShown = !hasVideo;
    this.#waiting = { video: [], audio: [] };
    this.#next = { video: null, audio: null };
    this.#lastPicture = null;
    this.#last = null;
  }

  push(unit: Unit, nowUs: number): void {
    const { header } = unit;
    const { track, frame, layer } = header;
    this.#time.follow(nowUs, header, this.#isEntry(header));
    if (frame < (this.#next[track] ?? 0)) {
      this.#countLate(header);
      return;
    }
    const waiting = this.#waiting[track];
    const at = waiting.findLastIndex((earlier) => earlier.frame <= frame);
    let of = waiting[at];
    if (of?.frame !== frame) {
      of = { frame, sinceUs: nowUs, layers: [] };
      waiting.splice(at + 1, 0, of);
    }
    of.layers[layer] = unit;
    if (this.#waiting.video.length + this.#waiting.audio.length > WAITING_MAX) {
      this.#waiting.video.shift() ?? this.#waiting.audio.shift();
    }
  }

  /** Hands out what is due. */
  poll(nowUs: number): void {
    this.#enter(nowUs);
    this.#stand(nowUs);
    do {
      this.#release(nowUs);
    } while (this.#leap(nowUs));
  }

  /** A picture is on the screen: with the first one, time begins to pass. */
  shown(ptsUs: number, nowUs: number): void {
    if (this.#entry !== null && !this.#isShown) {
      const { header } = this.#entry;
      this.#isShown = true;
      this.#time.start({ ptsUs, atUs: header.atUs + ptsUs - header.ptsUs }, nowUs);
    }
  }

  /** When this is to be seen or heard. */
  playAtUs(ptsUs: number): number {
    return this.#time.playAtUs(ptsUs);
  }

  /** How fast the media goes at this place. */
  speed(ptsUs: number): number {
    return this.#time.speed(ptsUs);
  }

  /** The speed of what was handed out last, and how far it is behind the server's hand. */
  get place(): { readonly speed: number; readonly behindUs: number | null } {
    const last = this.#last;
    return last === null
      ? { speed: 1, behindUs: null }
      : { speed: this.speed(last.ptsUs), behindUs: this.#time.behindUs(last) };
  }

  #isEntry({ key, track, layer }: MediaHeader): boolean {
    return key && track === this.#entryTrack && layer === 0;
  }

  #countLate({ track, layer, frame }: MediaHeader): void {
    const isPicture = track === 'video' && layer === 0;
    const wasMissed = this.#entry !== null && frame > this.#entry.header.frame;
    if (isPicture && wasMissed && this.lost > 0) {
      this.lost -= 1;
      this.late += 1;
    }
  }

  /** Begins with the first picture at once; what had come before it is of no use. */
  #enter(nowUs: number): void {
    const first = this.#waiting[this.#entryTrack].find(
      ({ layers: [base] }) => base !== undefined && this.#isEntry(base.header),
    );
    const header = first?.layers[0]?.header;
    if (this.#entry !== null || first === undefined || header === undefined) {
      return;
    }
    if (nowUs < first.sinceUs + (isWhole(first) ? 0 : ENTRY_WAIT_US)) {
      return;
    }
    const { track, frame } = header;
    this.#time.start(header, nowUs + (track === 'audio' ? SOUND_ALONE_AHEAD_US : 0));
    this.#entry = { header, atUs: nowUs };
    this.#next[track] = frame;
    this.#dropBefore(track, frame);
  }

  /** Until the first picture is on the screen no time passes, unless that takes too long. */
  #stand(nowUs: number): void {
    if (this.#entry !== null && !this.#isShown) {
      const { header, atUs } = this.#entry;
      this.#time.start(header, nowUs);
      this.#isShown = nowUs - atUs > FIRST_PICTURE_US;
    }
  }

  #release(nowUs: number): void {
    for (const track of TRACKS) {
      for (;;) {
        const waits = track === 'audio' && !this.#isShown;
        const next = waits ? null : this.#nextOf(track);
        if (next === null || next.leavesUs > nowUs) {
          break;
        }
        this.#handOut(next.base);
      }
    }
  }

  #nextOf(track: Track): Next | null {
    const soon: MediaHeader[] = [];
    let isFirstWhole = false;
    for (const waiting of this.#waiting[track]) {
      const base = waiting.layers[0]?.header;
      if (base !== undefined) {
        isFirstWhole ||= soon.length === 0 && isWhole(waiting);
        soon.push(base);
      }
      if (soon.length === REORDER_MAX) {
        break;
      }
    }
    const [base] = soon;
    if (base === undefined || !this.#time.isRunning) {
      return null;
    }
    const due = soon.map((place) => ({ place, dueUs: this.playAtUs(place.ptsUs) }));
    const first = due.reduce((one, other) => (other.dueUs < one.dueUs ? other : one));
    const isNext = base.frame === (this.#next[track] ?? base.frame);
    const leadUs = isNext && isFirstWhole ? AHEAD_US : GUARD_US;
    return { base, ...first, leavesUs: Math.max(0, first.dueUs - leadUs) };
  }

  /** Takes it from what waits, and what it overtook. */
  #handOut(base: MediaHeader): void {
    const { track, frame, key, ptsUs } = base;
    const waiting = this.#waiting[track].find((one) => one.frame === frame);
    this.#dropBefore(track, frame + 1);
    const missing = frame - (this.#next[track] ?? frame);
    this.#next[track] = frame + 1;
    let lacks = missing > 0;
    if (track === 'video') {
      this.lost += missing;
      lacks = this.#lastPicture !== null && !isEnoughFor(this.#lastPicture, base);
      this.#lastPicture = base;
    }
    // What an open group of pictures shows before its key frame needs the group before it.
    if (waiting === undefined || ptsUs < (this.#entry?.header.ptsUs ?? ptsUs)) {
      return;
    }
    this.pictures += track === 'video' ? 1 : 0;
    this.#last = base;
    const playAtUs = this.playAtUs(ptsUs);
    const layers = layersOf(waiting).map(({ payload }) => payload);
    const discontinuity = base.discontinuity || lacks;
    const disposable = !key && !base.reference;
    this.#user({ track, frame, key, discontinuity, disposable, ptsUs, playAtUs, layers });
  }

  #dropBefore(track: Track, frame: number): void {
    this.#waiting[track] = this.#waiting[track].filter((waiting) => waiting.frame >= frame);
  }

  /** Whether the time goes on elsewhere, because there is nothing to play for long. */
  #leap(nowUs: number): boolean {
    const next = TRACKS.map((track) => this.#nextOf(track)).reduce((one, other) =>
      one === null || (other !== null && other.dueUs < one.dueUs) ? other : one,
    );
    if (next === null || !this.#isShown || next.dueUs <= nowUs + STALL_US) {
      return false;
    }
    this.#time.start(next.place, nowUs + RESTART_AHEAD_US);
    return true;
  }
}

/** From the base upwards, without a gap. */
function layersOf({ layers }: Waiting): Unit[] {
  const whole: Unit[] = [];
  for (const unit of layers) {
    if (unit === undefined) {
      break;
    }
    whole.push(unit);
  }
  return whole;
}

/** Whether all layers came that the source has. */
function isWhole(waiting: Waiting): boolean {
  const top = layersOf(waiting).at(-1)?.header;
  return top !== undefined && (top.lastLayer || top.track === 'audio');
}
