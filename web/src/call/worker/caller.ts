/** The worker of a call's page: socket, encoders, decoders and canvas. */

import { KeptParts } from '../../exchange/files/kept-parts';
import { Cushion } from '../../media/cushion';
import { nowMs, nowUs } from '../../media/now';
import { PlayoutClock } from '../../media/playout-clock';
import { type Language, ProgramSocket } from '../../worker/socket';
import { type AgentMessage, type CallVideo, decodeAgentMessage } from '../protocol/agent';
import {
  type CallBlock,
  type CallUnit,
  decodeCallMessage,
  encodeCallBlock,
  encodeSentUnit,
  type SentUnit,
} from '../protocol/media';
import type { CallRequest } from '../protocol/requests';
import type { MicrophoneFrame } from '../voice/messages';
import { CallFiles } from './call-files';
import type { Devices, FromCallWorker, ToCallWorker } from './messages';
import { PictureSender } from './picture-sender';
import { CallPictures } from './pictures';
import { VoiceFeed } from './voice-feed';
import { VOICE, VoiceSender } from './voice-sender';

const SCREEN_REPORT_MS = 200;
const PAGE_STATS_MS = 1_000;
const FILES_POLL_MS = 10;
/** The audio thread works ahead by less than this. */
const WORKLET_MS = 10;

const LANGUAGE: Language<AgentMessage, CallUnit | CallBlock> = {
  readText: decodeAgentMessage,
  readUnit: decodeCallMessage,
  versionIn: (message) => (message.type === 'hello' ? message.body.protocol : null),
  lastWordsIn: (message) =>
    message.type === 'taken' || message.type === 'bye' ? message.body.text : null,
};

class Call {
  /** Relates the agent's clock to ours. */
  #clock = new PlayoutClock(Number.POSITIVE_INFINITY);
  readonly #cushion = new Cushion();
  readonly #pictures: CallPictures;
  readonly #voice: VoiceFeed;
  readonly #voiceSender: VoiceSender;
  readonly #pictureSender: PictureSender;
  readonly #socket: ProgramSocket<AgentMessage, CallUnit | CallBlock, CallRequest>;
  readonly #files: CallFiles;
  #peerKey: string | null = null;
  #devices: Devices | null = null;
  #video: CallVideo | null = null;
  #isCall = false;
  #soundSkewMs: number | null = null;
  #played = { heard: 0, concealed: 0 };

  constructor(socketUrl: string, canvas: OffscreenCanvas, tab: string) {
    const toLocalMs = (playAtUs: number) => (playAtUs + this.#clock.offsetUs) / 1_000;
    this.#pictures = new CallPictures(canvas, this.#cushion, {
      toLocalMs,
      onKeyWanted: () => this.#socket.send({ type: 'want_key' }),
      onProblem: problem,
    });
    this.#voice = new VoiceFeed((playAtUs) => {
      const playAtMs = toLocalMs(playAtUs);
      this.#cushion.observe(nowMs() + WORKLET_MS - playAtMs, nowMs());
      return playAtMs + this.#cushion.ms;
    });
    const send = (unit: SentUnit) =>
      this.#socket.sendBytes(encodeSentUnit(unit) as Uint8Array<ArrayBuffer>);
    this.#voiceSender = new VoiceSender(send, () =>
      problem('The encoder for voice failed. Reload the page to be heard again.'),
    );
    this.#pictureSender = new PictureSender({
      send,
      onFormat: (video) => {
        this.#video = video;
        this.#saySending();
      },
      onSilent: () => tell({ kind: 'camera_silent' }),
      onProblem: problem,
    });
    this.#socket = new ProgramSocket(socketUrl, LANGUAGE, {
      onConnection: (connection) => tell({ kind: 'connection', connection }),
      onMessage: (message) => this.#onMessage(message),
      onUnit: (unit) => this.#onUnit(unit),
      onBroken: (why) => problem(`The program sent something unreadable: ${why}.`),
    });
    const deskUser = {
      say: (request: CallRequest) => this.#socket.send(request),
      send: (message: Uint8Array) => this.#socket.sendBytes(encodeCallBlock(message)),
      queuedBytes: () => this.#socket.queuedBytes,
      onWhole: (name: string, blob: Blob) => tell({ kind: 'file', name, blob }),
      onProblem: problem,
    };
    this.#files = new CallFiles(deskUser, () => new KeptParts(tab));
    this.#socket.open();
    setInterval(() => this.#files.desk.poll(nowMs()), FILES_POLL_MS);
    setInterval(() => this.#reportScreen(), SCREEN_REPORT_MS);
    setInterval(() => this.#reportToAgent(), PAGE_STATS_MS);
  }

  on(message: Exclude<ToCallWorker, { kind: 'start' }>): void {
    switch (message.kind) {
      case 'open':
        this.#socket.open();
        return;
      case 'request':
        this.#socket.send(message.request);
        return;
      case 'voice_output':
        this.#voice.connect(message.port);
        return;
      case 'microphone':
        message.port.onmessage = ({ data }: MessageEvent<MicrophoneFrame>) =>
          this.#voiceSender.push(data);
        return;
      case 'camera':
        void this.#pictureSender.setCamera(message.camera);
        return;
      case 'devices':
        this.#devices = message.devices;
        this.#sayDevices();
        return;
      case 'offer_files':
        this.#files.desk.add(message.files);
        return;
      case 'withdraw_file':
        this.#files.desk.withdraw(message.file);
        return;
      case 'get_file':
        this.#files.desk.get(message.file, nowMs());
        return;
      case 'stop_file':
        this.#files.desk.stop(message.sha256);
        return;
      case 'skew':
        this.#soundSkewMs = message.skewMs;
        return;
      case 'voice':
        this.#played = message;
    }
  }

  #onMessage(message: AgentMessage): void {
    switch (message.type) {
      case 'hello':
        this.#clock = new PlayoutClock(Number.POSITIVE_INFINITY);
        this.#clock.sample(nowUs(), message.body.now_us);
        // What was before is void; `state` follows.
        this.#isCall = false;
        this.#sayDevices();
        break;
      case 'stats':
        this.#clock.sample(nowUs(), message.body.now_us);
        break;
      case 'state':
        this.#onState(message.body);
        break;
      case 'encode':
        this.#pictureSender.bps = message.body.video_bps;
        this.#voiceSender.bps = message.body.voice_bps;
        break;
      case 'key_wanted':
        this.#pictureSender.wantKey();
        break;
      case 'exchange':
        this.#files.onExchange(message.body, this.#peerKey);
        break;
      case 'file':
      case 'file_gone':
        this.#files.onMessage(message);
        break;
      default:
    }
    tell({ kind: 'message', message });
  }

  #onState({ state, peer, why }: Extract<AgentMessage, { type: 'state' }>['body']): void {
    const isCall = state === 'in_call' || state === 'no_path';
    if (isCall !== this.#isCall) {
      this.#isCall = isCall;
      this.#pictures.restart();
      this.#voice.restart(isCall ? (peer?.media.voice ?? VOICE) : null);
      this.#pictureSender.wantKey();
      this.#openSenders();
      if (!isCall) {
        this.#files.onOver(why);
      }
    }
    if (peer !== null && isCall) {
      this.#peerKey = peer.key;
      this.#pictures.setFormat(peer.media.video);
    }
  }

  #onUnit(unit: CallUnit | CallBlock): void {
    if (unit.track === 'files') {
      this.#files.desk.receive(unit.message, nowMs());
    } else if (unit.track === 'video') {
      this.#pictures.push(unit);
    } else {
      this.#voice.push(unit);
    }
  }

  /** Nothing of a muted device leaves the page. */
  #openSenders(): void {
    this.#voiceSender.isOpen = this.#isCall && this.#devices?.microphone === 'on';
    this.#pictureSender.isOpen = this.#isCall && this.#devices?.camera === 'on';
  }

  #sayDevices(): void {
    if (this.#devices !== null) {
      this.#openSenders();
      this.#socket.send({ type: 'devices', ...this.#devices });
      this.#saySending();
    }
  }

  #saySending(): void {
    if (this.#devices !== null) {
      const voice = this.#devices.microphone === 'none' ? null : VOICE;
      this.#socket.send({ type: 'sending', voice, video: this.#video });
    }
  }

  #skewMs(): number | null {
    return this.#soundSkewMs === null ? null : this.#soundSkewMs - this.#pictures.video.lateMs;
  }

  #decodeErrors(): number {
    return this.#pictures.video.decodeErrors + this.#voice.decodeErrors;
  }

  #reportScreen(): void {
    const { meter } = this.#pictures.video;
    tell({
      kind: 'screen',
      report: {
        shown: meter.displayed,
        fps: meter.rates(nowMs()).fps,
        width: meter.width,
        height: meter.height,
        decodeErrors: this.#decodeErrors(),
        sentPictures: this.#pictureSender.sent,
        sentKeys: this.#pictureSender.keys,
        sentVoice: this.#voiceSender.sent,
        sentHeight: this.#pictureSender.height,
        skewMs: this.#skewMs(),
        files: this.#files.desk.report,
      },
    });
  }

  #reportToAgent(): void {
    this.#pictureSender.check();
    this.#socket.send({
      type: 'page_stats',
      ...{ heard: this.#played.heard, concealed: this.#played.concealed },
      shown: this.#pictures.video.meter.displayed,
      decode_errors: this.#decodeErrors(),
      encoder_queue: this.#pictureSender.waiting,
      av_skew_ms: this.#skewMs(),
    });
  }
}

let call: Call | null = null;

self.onmessage = ({ data }: MessageEvent<ToCallWorker>) => {
  if (data.kind === 'start') {
    call = new Call(data.socketUrl, data.canvas, data.tab);
  } else {
    call?.on(data);
  }
};

function problem(text: string): void {
  tell({ kind: 'problem', text });
}

function tell(message: FromCallWorker): void {
  self.postMessage(message);
}
