/**
 * The page's worker: socket, decoders and canvas, so that the main thread only draws the
 * interface.
 */

import { nowUs } from '../media/now';
import type { Picture } from '../media/pictures';
import { PlayoutClock } from '../media/playout-clock';
import { decodeMediaUnit, type MediaUnit } from '../protocol/media-unit';
import { decodeProgramMessage, type ProgramMessage } from '../protocol/program';
import type { PageRequest } from '../protocol/requests';
import type { FromWorker, ToWorker } from './messages';
import { Output } from './output';
import { type Language, ProgramSocket } from './socket';
import { SoundFeed } from './sound-feed';
import { VideoPlayer } from './video-player';

const SCREEN_REPORT_MS = 200;
const PAGE_STATS_MS = 1_000;

const LANGUAGE: Language<ProgramMessage, MediaUnit> = {
  readText: decodeProgramMessage,
  readUnit: decodeMediaUnit,
  versionIn: (message) => (message.type === 'hello' ? message.body.protocol : null),
  lastWordsIn: (message) => (message.type === 'ended' ? message.body.text : null),
};

class Player {
  /** Relates the program's clock to ours. */
  #clock = new PlayoutClock(Number.POSITIVE_INFINITY);
  readonly #pictures: VideoPlayer;
  readonly #output: Output<Picture>;
  readonly #socket: ProgramSocket<ProgramMessage, MediaUnit, PageRequest>;

  constructor(socketUrl: string, canvas: OffscreenCanvas) {
    const problem = (text: string) => tell({ kind: 'problem', text });
    const toLocalMs = (programUs: number) => (programUs + this.#clock.offsetUs) / 1_000;
    this.#pictures = new VideoPlayer(canvas, toLocalMs, problem);
    const { video, cushion } = this.#pictures;
    const sound = new SoundFeed((playAtUs) => toLocalMs(playAtUs) + cushion.ms);
    this.#output = new Output(video, sound);
    this.#socket = new ProgramSocket(socketUrl, LANGUAGE, {
      onConnection: (connection) => tell({ kind: 'connection', connection }),
      onMessage: (message) => this.#onMessage(message),
      onUnit: (unit) => this.#onUnit(unit),
      onBroken: (why) => problem(`The program sent something unreadable: ${why}.`),
    });
    this.#socket.open();
    setInterval(() => this.#reportScreen(), SCREEN_REPORT_MS);
    setInterval(() => this.#reportToProgram(), PAGE_STATS_MS);
  }

  on(message: Exclude<ToWorker, { kind: 'start' }>): void {
    if (message.kind === 'request') {
      this.#socket.send(message.request);
    } else {
      this.#output.on(message);
    }
  }

  #onMessage(message: ProgramMessage): void {
    if (message.type === 'ended') {
      return;
    }
    if (message.type === 'hello') {
      this.#clock = new PlayoutClock(Number.POSITIVE_INFINITY);
      this.#clock.sample(nowUs(), message.body.now_us);
      this.#pictures.restart(message.body.video);
      this.#output.sound.restart(message.body.audio);
    }
    if (message.type === 'stats') {
      this.#clock.sample(nowUs(), message.body.now_us);
    }
    tell({ kind: 'message', message });
  }

  #onUnit(unit: MediaUnit): void {
    if (unit.track === 'video') {
      this.#pictures.push(unit);
    } else {
      this.#output.sound.push(unit.playAtUs, unit.payload);
    }
  }

  #reportScreen(): void {
    const pictures = this.#output.video.meter.takePictures();
    tell({ kind: 'screen', report: { ...this.#output.report(), pictures } });
  }

  #reportToProgram(): void {
    const { video, sound } = this.#output;
    const { shown, dropped, decodeErrors, longestGapMs, skewMs } = this.#output.report();
    this.#socket.send({
      type: 'page_stats',
      decoded: video.meter.decoded,
      displayed: shown,
      dropped,
      decode_errors: decodeErrors,
      audio_decoded: sound.decoded,
      longest_gap_ms: longestGapMs,
      av_skew_ms: skewMs,
    });
  }
}

let player: Player | null = null;

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'start') {
    player = new Player(data.socketUrl, data.canvas);
  } else {
    player?.on(data);
  }
};

function tell(message: FromWorker): void {
  self.postMessage(message);
}
