/** The worker of a room's page: its link to the room, encoders, decoders and canvases. */

import type { CallVideo, Media } from '../../call/protocol/agent';
import type { SentUnit } from '../../call/protocol/media';
import type { NetworkRequest } from '../../call/protocol/requests';
import type { MicrophoneFrame } from '../../call/voice/messages';
import type { Devices } from '../../call/worker/messages';
import { PictureSender } from '../../call/worker/picture-sender';
import { VOICE, VoiceSender } from '../../call/worker/voice-sender';
import { FILES_STREAM } from '../../exchange/files/blocks';
import { type DeskUser, FileDesk } from '../../exchange/files/desk';
import { KeptParts } from '../../exchange/files/kept-parts';
import { nowMs } from '../../media/now';
import { DecodeError } from '../../protocol/checks';
import {
  type Bridged,
  BridgedLink,
  CONTROL_STREAM,
  type Link,
  type LinkUser,
  OwnLink,
} from '../../rtc/link';
import {
  decodeRoomMessage,
  type MemberEntry,
  type MemberMessage,
  PROTOCOL_VERSION,
  type RoomMessage,
} from '../protocol/control';
import { decodeMemberMedia, MediaCutter } from '../protocol/media';
import { PICTURE_STREAMS, streamOf } from '../protocol/streams';
import { Member } from './member';
import type { FromRoomWorker, ToRoomWorker } from './messages';
import { SocketLink } from './socket-link';
import { UplinkRate } from './uplink-rate';

const PROGRAM = 'anabranch page';
const POLL_MS = 10;
const RATE_MS = 100;
const SCREEN_REPORT_MS = 200;
/** The room sends a beat each 100 ms: after so long without anything the network may be gone. */
const SILENT_MS = 300;
/** And after so long the room has given us up. */
const LOST_MS = 9_000;
/** A picture that nothing is predicted from is not worth so long a wait. */
const DISPOSABLE_WAIT_MS = 250;
const SESSIONS = 65_536;

class Attendee {
  readonly #name: string;
  readonly #members = new Map<number, Member>();
  readonly #canvases = new Map<number, OffscreenCanvas>();
  readonly #cutter = new MediaCutter(
    Math.floor(Math.random() * SESSIONS),
    Math.floor(performance.timeOrigin * 1_000),
  );
  readonly #rate = new UplinkRate();
  readonly #files: FileDesk;
  readonly #voiceSender: VoiceSender;
  readonly #pictureSender: PictureSender;
  readonly #linkUser: LinkUser = {
    onOpen: () => this.#greet(),
    onReceived: (stream, data) => this.#receive(stream, data),
    onClosed: (why) => this.#lost(why ?? 'The room closed the connection.'),
  };
  #link: Link | null = null;
  #attempt = 0;
  /** What makes us the same member after the connection was lost. */
  #resume: string | null = null;
  #isIn = false;
  #heardMs = 0;
  #isHeard = true;
  #devices: Devices | null = null;
  #video: CallVideo | null = null;
  #said: string | null = null;

  constructor(name: string, tab: string) {
    this.#name = name;
    const user: DeskUser = {
      say: (message) => this.#say(message),
      send: (message) => this.#link?.send(FILES_STREAM, message),
      queuedBytes: () => this.#link?.queuedBytes(FILES_STREAM) ?? 0,
      onWhole: (name, blob) => tell({ kind: 'file', name, blob }),
      onProblem: problem,
    };
    this.#files = new FileDesk(user, new KeptParts(tab));
    this.#voiceSender = new VoiceSender(
      (unit) => this.#send(unit),
      () => problem('The encoder for voice failed. Reload the page to be heard again.'),
    );
    this.#pictureSender = new PictureSender({
      send: (unit) => this.#send(unit),
      onFormat: (video) => {
        this.#video = video;
        this.#sayMedia();
      },
      onSilent: () => tell({ kind: 'camera_silent' }),
      onProblem: problem,
    });
    setInterval(() => this.#poll(), POLL_MS);
    setInterval(() => this.#followRate(), RATE_MS);
    setInterval(() => this.#report(), SCREEN_REPORT_MS);
  }

  on(message: Exclude<ToRoomWorker, { kind: 'start' }>): void {
    switch (message.kind) {
      case 'connect':
        this.#connect(message.attempt, message.channels);
        return;
      case 'connect_to_agent':
        this.#begin(message.attempt);
        this.#link = new SocketLink(message.url, this.#linkUser);
        return;
      case 'network_request':
        this.#say(message.request);
        return;
      case 'opened':
      case 'closed':
      case 'received':
        this.#onBridge(message);
        return;
      case 'disconnect':
        this.#disconnect();
        return;
      case 'canvas':
        this.#canvases.set(message.member, message.canvas);
        this.#members.get(message.member)?.showOn(message.canvas);
        return;
      case 'voice_output':
        this.#members.get(message.member)?.hearAt(message.port);
        return;
      case 'skew': {
        const member = this.#members.get(message.member);
        if (member !== undefined) {
          member.skewMs = message.skewMs;
        }
        return;
      }
      case 'microphone':
        message.port.onmessage = ({ data }: MessageEvent<MicrophoneFrame>) =>
          this.#voiceSender.push(data);
        return;
      case 'camera':
        void this.#pictureSender.setCamera(message.camera);
        return;
      case 'devices':
        this.#devices = message.devices;
        this.#sayMedia();
        return;
      case 'write':
        this.#say({ type: 'text', text: message.text });
        return;
      case 'offer_files':
        this.#files.add(message.files);
        return;
      case 'withdraw_file':
        this.#files.withdraw(message.file);
        return;
      case 'get_file':
        this.#files.get(message.file, nowMs());
        return;
      case 'stop_file':
        this.#files.stop(message.sha256);
        return;
      case 'lock':
        this.#say({ type: 'lock', locked: message.locked });
        return;
      case 'remove':
        this.#say({ type: 'remove', member: message.member });
        return;
      case 'leave':
        this.#files.leave();
        this.#say({ type: 'bye' });
    }
  }

  #connect(attempt: number, channels: readonly RTCDataChannel[] | null): void {
    this.#begin(attempt);
    const user = this.#linkUser;
    this.#link =
      channels === null
        ? new BridgedLink((stream, data) => tell({ kind: 'say', stream, data }), user)
        : new OwnLink(channels, user);
  }

  #begin(attempt: number): void {
    this.#disconnect();
    this.#attempt = attempt;
  }

  #onBridge(message: Bridged): void {
    if (message.attempt === this.#attempt && this.#link instanceof BridgedLink) {
      this.#link.on(message);
    }
  }

  #disconnect(): void {
    this.#link?.close();
    this.#link = null;
    this.#isIn = false;
    this.#files.onLost();
    this.#openSenders();
  }

  #lost(why: string): void {
    this.#isIn = false;
    tell({ kind: 'lost', attempt: this.#attempt, why });
  }

  #greet(): void {
    this.#heardMs = nowMs();
    this.#setHeard(true);
    this.#say({
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      program: PROGRAM,
      name: this.#name,
      media: this.#media(),
      resume: this.#resume,
    });
  }

  #receive(stream: number, data: unknown): void {
    this.#heardMs = nowMs();
    this.#setHeard(true);
    try {
      if (typeof data === 'string') {
        this.#onMessage(decodeRoomMessage(data));
      } else if (data instanceof ArrayBuffer && stream === FILES_STREAM) {
        this.#files.receive(data, nowMs());
      } else if (data instanceof ArrayBuffer) {
        const media = decodeMemberMedia(data);
        this.#members.get(media.member)?.receive(media);
      }
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        throw error;
      }
      problem(`The room sent something unreadable: ${error.message}.`);
    }
  }

  #onMessage(message: RoomMessage | null): void {
    switch (message?.type) {
      case undefined:
      case 'beat':
        return;
      case 'welcome':
        this.#onWelcome(message.body);
        break;
      case 'joined':
        this.#add(message.body.member);
        break;
      case 'left':
        this.#remove(message.body.member);
        this.#files.onLeft(message.body.member);
        break;
      case 'file':
        this.#files.onFile(message.body, nowMs());
        break;
      case 'file_gone':
        this.#files.onGone(message.body.file);
        break;
      case 'media': {
        const { member, media, voice_frames } = message.body;
        this.#members.get(member)?.setMedia(media, voice_frames);
        break;
      }
      case 'want_key':
        this.#pictureSender.wantKey();
        break;
      case 'encode':
        this.#rate.roomBps = message.body.video_bps;
        this.#voiceSender.bps = message.body.voice_bps;
        this.#pictureSender.bps = this.#rate.bps;
        break;
      default:
    }
    tell({ kind: 'message', message: message as RoomMessage });
  }

  #onWelcome({
    resume,
    you,
    members,
    files,
  }: Extract<RoomMessage, { type: 'welcome' }>['body']): void {
    this.#resume = resume;
    this.#isIn = true;
    const there = new Set(members.map(({ number }) => number));
    for (const number of [...this.#members.keys()].filter((number) => !there.has(number))) {
      this.#remove(number);
    }
    for (const member of members) {
      this.#add(member);
    }
    this.#files.onWelcome(you, files, nowMs());
    this.#said = null;
    this.#sayMedia();
    this.#pictureSender.wantKey();
  }

  #add({ number, media }: MemberEntry): void {
    const known = this.#members.get(number);
    if (known !== undefined) {
      known.setMedia(media, 0);
      return;
    }
    const member = new Member(number, media, {
      onKeyWanted: () => this.#say({ type: 'want_key', member: number }),
      onProblem: problem,
    });
    this.#members.set(number, member);
    const canvas = this.#canvases.get(number);
    if (canvas !== undefined) {
      member.showOn(canvas);
    }
  }

  #remove(number: number): void {
    this.#members.get(number)?.close();
    this.#members.delete(number);
    this.#canvases.delete(number);
  }

  #media(): Media {
    const { microphone, camera } = this.#devices ?? { microphone: 'none', camera: 'none' };
    const voice = microphone === 'none' ? null : VOICE;
    return { voice, video: this.#video, microphone, camera };
  }

  /** Says what is sent, if that changed, and opens or closes what sends it. */
  #sayMedia(): void {
    this.#openSenders();
    const media = this.#media();
    const said = JSON.stringify(media);
    if (this.#isIn && said !== this.#said) {
      this.#said = said;
      this.#say({ type: 'media', media, voice_frames: this.#voiceSender.sent });
    }
  }

  /** Nothing of a muted device leaves the page. */
  #openSenders(): void {
    this.#voiceSender.isOpen = this.#isIn && this.#devices?.microphone === 'on';
    this.#pictureSender.isOpen = this.#isIn && this.#devices?.camera === 'on';
  }

  #send(unit: SentUnit): void {
    const waitMs = this.#rate.waitMs(this.#queuedBytes());
    // A decoder does without it; all that is behind it comes sooner.
    if (unit.role === 'disposable' && waitMs > DISPOSABLE_WAIT_MS) {
      return;
    }
    for (const piece of this.#cutter.cut(unit)) {
      this.#link?.send(streamOf(unit.role), piece);
    }
  }

  #queuedBytes(): number {
    const queued = PICTURE_STREAMS.map((stream) => this.#link?.queuedBytes(stream) ?? 0);
    return queued.reduce((sum, bytes) => sum + bytes, 0);
  }

  #followRate(): void {
    this.#pictureSender.check();
    this.#rate.follow(nowMs(), this.#queuedBytes());
    this.#pictureSender.bps = this.#rate.bps;
    const silentMs = this.#isIn ? nowMs() - this.#heardMs : 0;
    if (silentMs > LOST_MS) {
      this.#lost('Nothing comes from the room any more.');
    } else if (silentMs > SILENT_MS) {
      this.#setHeard(false);
    }
  }

  #setHeard(isHeard: boolean): void {
    if (isHeard !== this.#isHeard) {
      this.#isHeard = isHeard;
      tell({ kind: 'hearing', isHeard });
    }
  }

  #poll(): void {
    for (const member of this.#members.values()) {
      member.poll();
    }
    this.#files.poll(nowMs());
  }

  #report(): void {
    tell({
      kind: 'screen',
      report: {
        members: [...this.#members.values()].map((member) => member.screen),
        sentPictures: this.#pictureSender.sent,
        sentVoice: this.#voiceSender.sent,
        sentHeight: this.#pictureSender.height,
        videoBps: this.#rate.bps,
        files: this.#files.report,
      },
    });
  }

  #say(message: MemberMessage | NetworkRequest): void {
    this.#link?.send(CONTROL_STREAM, JSON.stringify(message));
  }
}

let attendee: Attendee | null = null;

self.onmessage = ({ data }: MessageEvent<ToRoomWorker>) => {
  if (data.kind === 'start') {
    attendee = new Attendee(data.name, data.tab);
  } else {
    attendee?.on(data);
  }
};

function problem(text: string): void {
  tell({ kind: 'problem', text });
}

function tell(message: FromRoomWorker): void {
  self.postMessage(message);
}
