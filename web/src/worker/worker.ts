/**
 * The page's worker: socket, decoders and canvas, so that the main thread only draws the
 * interface.
 */

import { nowMs } from '../media/now';
import { ProgramClock } from '../media/program-clock';
import type { MediaUnit } from '../protocol/media-unit';
import type { FromWorker, LiveMessage, ToWorker } from './messages';
import { ProgramSocket } from './socket';
import { SoundFeed } from './sound-feed';
import { VideoPlayer } from './video-player';

const SCREEN_REPORT_MS = 200;
const PAGE_STATS_MS = 1_000;

class Player {
  readonly #clock = new ProgramClock();
  readonly #video: VideoPlayer;
  readonly #sound: SoundFeed;
  readonly #socket: ProgramSocket;
  #soundSkewMs: number | null = null;

  constructor(socketUrl: string, canvas: OffscreenCanvas) {
    this.#video = new VideoPlayer(canvas, this.#clock, (text) => tell({ kind: 'problem', text }));
    this.#sound = new SoundFeed(
      (playAtUs) => this.#clock.toLocalMs(playAtUs) + this.#video.cushion.ms,
    );
    this.#socket = new ProgramSocket(socketUrl, {
      onConnection: (connection) => tell({ kind: 'connection', connection }),
      onMessage: (message) => this.#onMessage(message),
      onUnit: (unit) => this.#onUnit(unit),
      onBroken: (why) =>
        tell({ kind: 'problem', text: `The program sent something unreadable: ${why}.` }),
    });
    this.#socket.open();
    setInterval(() => this.#reportScreen(), SCREEN_REPORT_MS);
    setInterval(() => this.#reportToProgram(), PAGE_STATS_MS);
  }

  on(message: Exclude<ToWorker, { kind: 'start' }>): void {
    switch (message.kind) {
      case 'request':
        this.#socket.send(message.request);
        return;
      case 'sound':
        this.#soundSkewMs = null;
        this.#sound.connect(message.port);
        return;
      case 'skew':
        this.#soundSkewMs = message.skewMs;
    }
  }

  #onMessage(message: LiveMessage): void {
    if (message.type === 'hello') {
      this.#clock.reset();
      this.#clock.observe(message.body.now_us, nowMs());
      this.#video.restart(message.body.video);
      this.#sound.restart(message.body.audio);
    }
    if (message.type === 'stats') {
      this.#clock.observe(message.body.now_us, nowMs());
    }
    tell({ kind: 'message', message });
  }

  #onUnit(unit: MediaUnit): void {
    if (unit.track === 'video') {
      this.#video.push(unit);
    } else {
      this.#sound.push(unit.playAtUs, unit.payload);
    }
  }

  #reportScreen(): void {
    const { meter } = this.#video;
    tell({
      kind: 'screen',
      report: {
        displayed: meter.displayed,
        dropped: this.#video.dropped,
        decodeErrors: this.#video.decodeErrors + this.#sound.decodeErrors,
        ...meter.rates(nowMs()),
        layers: meter.layers,
        width: meter.width,
        height: meter.height,
        longestGapMs: this.#video.longestGapMs(),
        skewMs: this.#skewMs(),
        pictures: meter.takePictures(),
      },
    });
  }

  #reportToProgram(): void {
    const { meter } = this.#video;
    this.#socket.send({
      type: 'page_stats',
      decoded: meter.decoded,
      displayed: meter.displayed,
      dropped: this.#video.dropped,
      decode_errors: this.#video.decodeErrors + this.#sound.decodeErrors,
      audio_decoded: this.#sound.decoded,
      longest_gap_ms: this.#video.longestGapMs(),
      av_skew_ms: this.#skewMs(),
    });
  }

  #skewMs(): number | null {
    return this.#soundSkewMs === null ? null : this.#soundSkewMs - this.#video.displayLateMs;
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
