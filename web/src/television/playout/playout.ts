/** What is received, handed to the decoders in order and in time. */

import type { Unit } from './assembler';
import { type Pace, PlayClock } from './clock';
import { PICTURE_AHEAD_MS, type Picture, PictureQueue } from './picture-queue';

/** Before its time, by so much sound goes to the decoder. */
const SOUND_AHEAD_MS = 200;
/** Sound that is so late is not decoded any more. */
const SOUND_LATE_MS = 60;
const SOUNDS_MAX = 4_096;
/** A decoder that shows nothing for so long does not hold up the sound. */
const FIRST_PICTURE_MS = 700;
/** With nothing to play for so long, the clock goes on with what there is. */
const STALL_MS = 250;
/** When all comes late for so long, the clock was wrong. */
const LATE_MS = 1_000;
/** What is played next is so far ahead after the clock was set. */
const RESTART_AHEAD_MS = 50;
/**
 * Sound alone begins so late: transport streams carry a third of a second of it at once, and what
 * begins with the end of one lot must last until the next comes.
 */
const SOUND_ALONE_AHEAD_MS = 400;

export interface PlayoutUser {
  onPicture(picture: Picture): void;
  onSound(ptsUs: number, payload: Uint8Array): void;
}

export class Playout {
  readonly clock = new PlayClock();
  readonly pictures = new PictureQueue();
  readonly #pace: Pace;
  readonly #user: PlayoutUser;
  #hasVideo = true;
  /** In order of their numbers. */
  #sounds: Unit[] = [];
  #lastSound = -1;
  /** When the channel was asked for: what came to the server before had been kept for us. */
  #askedMs = 0;
  /** The first picture, and when it was handed out. */
  #entry: { readonly ptsUs: number; readonly atMs: number } | null = null;
  #lateSinceMs: number | null = null;

  constructor(pace: Pace, user: PlayoutUser) {
    this.#pace = pace;
    this.#user = user;
  }

  /** Another channel was asked for. */
  restart(nowMs: number): void {
    this.#askedMs = nowMs;
    this.begin(true);
  }

  /** The source begins, or begins anew: it is shown from the next key frame on. */
  begin(hasVideo: boolean): void {
    this.#hasVideo = hasVideo;
    this.pictures.restart();
    this.#sounds = [];
    this.#lastSound = -1;
    this.#entry = null;
    this.#lateSinceMs = null;
    this.clock.stop();
    this.#pace.restart();
  }

  push(unit: Unit, nowMs: number): void {
    const { atUs, track } = unit.header;
    this.#pace.observe(atUs, nowMs);
    if (this.#pace.toLocalMs(atUs) >= this.#askedMs) {
      this.#pace.arrived(atUs, nowMs);
    }
    this.#observeTime(unit, nowMs);
    if (track === 'video') {
      this.pictures.push(unit, nowMs);
    } else {
      this.#insertSound(unit);
    }
  }

  /** Hands out what is due. */
  poll(nowMs: number, budgetMs: number): void {
    this.clock.setSpeed(this.#pace.speed(nowMs, budgetMs), nowMs);
    this.#startWithoutPicture(nowMs);
    this.#leap(nowMs);
    if (this.#hasVideo) {
      this.#releasePictures(nowMs);
    }
    this.#releaseSounds(nowMs);
  }

  /** A picture is on the screen: the first one starts the clock. */
  shown(ptsUs: number, nowMs: number): void {
    if (!this.clock.running) {
      this.clock.start(ptsUs, nowMs);
    }
  }

  /** When this is to be seen; before the clock runs, counted from now. */
  dueMs(ptsUs: number, nowMs: number): number {
    const aheadMs = (ptsUs - (this.#entry?.ptsUs ?? ptsUs)) / 1000;
    return this.clock.dueMs(ptsUs) ?? nowMs + aheadMs;
  }

  #releasePictures(nowMs: number): void {
    const due = (ptsUs: number) => this.dueMs(ptsUs, nowMs);
    for (;;) {
      const picture = this.pictures.take(nowMs, due);
      if (picture === null) {
        return;
      }
      this.#entry ??= { ptsUs: picture.ptsUs, atMs: nowMs };
      // What an open group of pictures shows before its key frame needs the group before it.
      if (picture.ptsUs >= this.#entry.ptsUs) {
        this.#user.onPicture(picture);
      }
    }
  }

  #releaseSounds(nowMs: number): void {
    for (const [count, { header, payload }] of this.#sounds.entries()) {
      const dueMs = this.clock.dueMs(header.ptsUs);
      if (dueMs === null || dueMs - SOUND_AHEAD_MS > nowMs) {
        this.#sounds.splice(0, count);
        return;
      }
      this.#lastSound = header.frame;
      if (dueMs > nowMs - SOUND_LATE_MS) {
        this.#user.onSound(header.ptsUs, payload);
      }
    }
    this.#sounds = [];
  }

  #insertSound(unit: Unit): void {
    const { frame } = unit.header;
    if (frame <= this.#lastSound || this.#sounds.length >= SOUNDS_MAX) {
      return;
    }
    const at = this.#sounds.findLastIndex(({ header }) => header.frame <= frame) + 1;
    this.#sounds.splice(at, 0, unit);
  }

  /** Tells the pace where we are, and sets the clock if it was wrong for long. */
  #observeTime({ header }: Unit, nowMs: number): void {
    const dueMs = this.clock.dueMs(header.ptsUs);
    if (dueMs === null) {
      return;
    }
    this.#pace.placed(header.atUs, dueMs, nowMs);
    if (dueMs >= nowMs) {
      this.#lateSinceMs = null;
      return;
    }
    this.#lateSinceMs ??= nowMs;
    if (nowMs - this.#lateSinceMs > LATE_MS) {
      this.#set(header.ptsUs, nowMs);
    }
  }

  #startWithoutPicture(nowMs: number): void {
    if (this.clock.running) {
      return;
    }
    const [sound] = this.#sounds;
    if (this.#entry !== null && nowMs - this.#entry.atMs > FIRST_PICTURE_MS) {
      this.clock.start(this.#entry.ptsUs, nowMs);
    } else if (!this.#hasVideo && sound !== undefined) {
      this.clock.start(sound.header.ptsUs, nowMs + SOUND_ALONE_AHEAD_MS);
    }
  }

  /** The media goes on far ahead of what was played last, as where the server left much out. */
  #leap(nowMs: number): void {
    const times = [
      this.#hasVideo ? this.pictures.nextPtsUs : null,
      this.#sounds[0]?.header.ptsUs ?? null,
    ].filter((ptsUs) => ptsUs !== null);
    const nextUs = Math.min(...times);
    const dueMs = times.length === 0 ? null : this.clock.dueMs(nextUs);
    if (dueMs !== null && dueMs > nowMs + Math.max(SOUND_AHEAD_MS, PICTURE_AHEAD_MS) + STALL_MS) {
      this.#set(nextUs, nowMs);
    }
  }

  #set(ptsUs: number, nowMs: number): void {
    this.clock.start(ptsUs, nowMs + RESTART_AHEAD_MS);
    this.#pace.restart();
    this.#lateSinceMs = null;
  }
}
