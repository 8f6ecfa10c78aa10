/** Another member: its voice and pictures, from what arrives to loudspeaker and screen. */

import type { Media } from '../../call/protocol/agent';
import type { CallUnit } from '../../call/protocol/media';
import { CallPictures } from '../../call/worker/pictures';
import { VoiceFeed } from '../../call/worker/voice-feed';
import { VOICE } from '../../call/worker/voice-sender';
import { Cushion } from '../../media/cushion';
import { nowMs, nowUs } from '../../media/now';
import { MemberPlayout, type Played } from '../playout/playout';
import type { MemberMedia } from '../protocol/media';
import type { MemberScreen } from './messages';

/** The audio thread works ahead by less than this. */
const WORKLET_MS = 10;

export interface MemberUser {
  /** Its pictures cannot be decoded before a key picture. */
  onKeyWanted(): void;
  onProblem(text: string): void;
}

export class Member {
  readonly #number: number;
  readonly #user: MemberUser;
  readonly #playout = new MemberPlayout();
  readonly #cushion = new Cushion();
  readonly #voice: VoiceFeed;
  #pictures: CallPictures | null = null;
  #media: Media;
  skewMs: number | null = null;

  constructor(number: number, media: Media, user: MemberUser) {
    this.#number = number;
    this.#media = media;
    this.#user = user;
    this.#voice = new VoiceFeed((playAtUs) => {
      const playAtMs = playAtUs / 1_000;
      this.#cushion.observe(nowMs() + WORKLET_MS - playAtMs, nowMs());
      return playAtMs + this.#cushion.ms;
    });
    this.#voice.restart(media.voice ?? VOICE);
  }

  /** It sends something else from now on, and sent so many frames of voice before. */
  setMedia(media: Media, voiceFrames: number): void {
    this.#media = media;
    this.#pictures?.setFormat(media.video);
    if (media.microphone !== 'on') {
      this.#playout.voice.muteFrom(voiceFrames);
    }
  }

  showOn(canvas: OffscreenCanvas): void {
    this.#pictures?.close();
    this.#pictures = new CallPictures(canvas, this.#cushion, {
      toLocalMs: (playAtUs) => playAtUs / 1_000,
      onKeyWanted: () => this.#wantKey(),
      onProblem: (text) => this.#user.onProblem(text),
    });
    this.#pictures.setFormat(this.#media.video);
    this.#wantKey();
  }

  hearAt(port: MessagePort): void {
    this.#voice.connect(port);
  }

  receive(message: MemberMedia): void {
    this.#playout.push(nowUs(), message);
  }

  /** Hands on what is due. */
  poll(): void {
    for (let played = this.#playout.poll(nowUs()); played !== null; ) {
      this.#play(played);
      played = this.#playout.poll(nowUs());
    }
    if (this.#pictures !== null && this.#playout.pictures.takeKeyWanted(nowUs())) {
      this.#user.onKeyWanted();
    }
  }

  close(): void {
    this.#pictures?.close();
    this.#voice.restart(null);
  }

  get screen(): MemberScreen {
    const meter = this.#pictures?.video.meter;
    const lateMs = this.#pictures?.video.lateMs ?? 0;
    const { voice, pictures } = this.#playout;
    return {
      number: this.#number,
      shown: meter?.displayed ?? 0,
      fps: meter?.rates(nowMs()).fps ?? 0,
      height: meter?.height ?? 0,
      heard: voice.heard,
      concealed: voice.concealed,
      lost: pictures.lost,
      voiceDelayMs: voice.delayUs / 1_000,
      skewMs: this.skewMs === null || this.#pictures === null ? null : this.skewMs - lateMs,
    };
  }

  #play(played: Played): void {
    const unit = unitOf(played);
    if (unit.track === 'audio') {
      this.#voice.push(unit);
    } else {
      this.#pictures?.push(unit);
    }
  }

  #wantKey(): void {
    this.#playout.pictures.breakOff();
  }
}

/** As an agent hands it to its page. */
function unitOf(played: Played): CallUnit {
  const { track, frame, capturedUs: ptsUs, playAtUs, payload } = played;
  const kind = track === 'video' ? played.kind : null;
  return {
    track,
    layer: 0,
    key: kind === 'key',
    reference: kind === 'reference',
    disposable: kind === 'disposable',
    discontinuity: track === 'video' && played.discontinuity,
    last: true,
    frame,
    ptsUs,
    playAtUs,
    delayMs: null,
    payload: payload ?? new Uint8Array(),
    conceal: payload === null,
  };
}
