/** Watches channels: from the data channels to screen and sound. */

import { nowMs } from '../../media/now';
import { SoundFeed } from '../../worker/sound-feed';
import { Pace } from '../playout/clock';
import { Playout } from '../playout/playout';
import type { Description, VideoFormat } from '../protocol/control';
import { Viewer } from '../viewer';
import { BridgedLink, type Link, OwnLink } from './link';
import type { Bridged, FromPlayer, ToPlayer } from './messages';
import { StillDecoder } from './still-decoder';
import { Thumbnails } from './thumbnails';
import { Video } from './video';

const PROGRAM = 'anabranch page';
const POLL_MS = 10;
const SCREEN_REPORT_MS = 250;
const SERVER_REPORT_MS = 1_000;

export class Player {
  readonly #tell: (message: FromPlayer) => void;
  readonly #pace = new Pace();
  readonly #playout: Playout;
  readonly #video: Video;
  readonly #sound: SoundFeed;
  readonly #thumbnails: Thumbnails;
  readonly #stills = new StillDecoder();
  #viewer = this.#newViewer();
  #link: Link | null = null;
  #attempt = 0;
  #welcome = false;
  #budgetMs = 0;
  #hasVideo = false;
  /** When the channel was asked for, until it is there. */
  #pressedMs: number | null = null;
  #zapMs: number | null = null;
  #isThere = false;
  #skewMs: number | null = null;

  constructor(canvas: OffscreenCanvas, tell: (message: FromPlayer) => void) {
    this.#tell = tell;
    this.#playout = new Playout(this.#pace, {
      onPicture: (picture) => this.#video.push(picture),
      onSound: (ptsUs, payload) => this.#onSound(ptsUs, payload),
    });
    this.#video = new Video(canvas, {
      dueMs: (ptsUs, now) => this.#playout.dueMs(ptsUs, now),
      onFirst: (ptsUs, now) => this.#onFirstPicture(ptsUs, now),
      onObstacle: (text) => tell({ kind: 'obstacle', text }),
    });
    this.#sound = new SoundFeed(
      (ptsUs) => this.#playout.dueMs(ptsUs, nowMs()),
      () => this.#playout.clock.speed,
    );
    this.#thumbnails = new Thumbnails(canvas, (channel, picture) =>
      tell({ kind: 'thumbnail', channel, picture }),
    );
    setInterval(() => this.#playout.poll(nowMs(), this.#budgetMs), POLL_MS);
    setInterval(() => this.#reportScreen(), SCREEN_REPORT_MS);
    setInterval(() => this.#reportToServer(), SERVER_REPORT_MS);
  }

  on(message: Exclude<ToPlayer, { kind: 'start' }>): void {
    switch (message.kind) {
      case 'connect':
        this.#connect(message);
        return;
      case 'opened':
      case 'closed':
      case 'received':
        this.#onBridge(message);
        return;
      case 'disconnect':
        this.#disconnect();
        return;
      case 'tune':
        this.#tune(message.channel, message.pressedMs);
        return;
      case 'stop':
        this.#leaveChannel();
        this.#viewer.stop();
        return;
      case 'latency':
        this.#budgetMs = message.latencyMs;
        this.#viewer.setLatency(message.latencyMs);
        return;
      case 'seen':
        this.#viewer.seen(message.id);
        return;
      case 'still':
        this.#viewer.askStill(message.channel);
        return;
      case 'sound':
        this.#skewMs = null;
        this.#sound.connect(message.port);
        return;
      case 'skew':
        this.#skewMs = message.skewMs;
    }
  }

  #connect(message: Extract<ToPlayer, { kind: 'connect' }>): void {
    const { attempt, channels, token, latencyMs } = message;
    this.#disconnect();
    this.#attempt = attempt;
    this.#budgetMs = latencyMs;
    this.#pace.reset();
    const user = {
      onOpen: () => this.#viewer.hello(PROGRAM, token, latencyMs),
      onReceived: (stream: number, data: unknown) => this.#viewer.receive(stream, data),
      onClosed: () => this.#tell({ kind: 'lost', attempt, text: null }),
    };
    this.#link =
      channels === null
        ? new BridgedLink((stream, text) => this.#tell({ kind: 'say', stream, text }), user)
        : new OwnLink(channels, user);
  }

  #onBridge(message: Bridged): void {
    if (message.attempt === this.#attempt && this.#link instanceof BridgedLink) {
      this.#link.on(message);
    }
  }

  #disconnect(): void {
    this.#link?.close();
    this.#link = null;
    this.#viewer = this.#newViewer();
    this.#welcome = false;
    this.#leaveChannel();
  }

  #newViewer(): Viewer {
    return new Viewer({
      say: (stream, text) => this.#link?.send(stream, text),
      onWelcome: (program, nowUs, channels) => {
        this.#welcome = true;
        this.#pace.observe(nowUs, nowMs());
        this.#tell({ kind: 'welcome', program, channels });
      },
      onChannels: (channels) => this.#tell({ kind: 'channels', channels }),
      onDescription: (description) => this.#describe(description),
      onOffAir: (channel, text) => {
        this.#leaveChannel();
        this.#tell({ kind: 'off_air', channel, text });
      },
      onProgramme: (channel, programme) => this.#tell({ kind: 'programme', channel, programme }),
      onUnit: (unit) => {
        this.#playout.push(unit, nowMs());
        this.#playout.poll(nowMs(), this.#budgetMs);
      },
      onStill: (channel, video, payload) => void this.#onStill(channel, video, payload),
      onUrgent: (urgent) => this.#tell({ kind: 'urgent', urgent }),
      onOver: (id) => this.#tell({ kind: 'over', id }),
      onWords: (of, text) => this.#tell({ kind: 'words', of, text }),
      onBye: (text) => this.#tell({ kind: 'lost', attempt: this.#attempt, text }),
      onBroken: (why) =>
        this.#tell({ kind: 'problem', text: `The server sent something unreadable: ${why}.` }),
    });
  }

  async #onStill(
    channel: number,
    video: VideoFormat | null,
    payload: Uint8Array | null,
  ): Promise<void> {
    const picture =
      video === null || payload === null ? null : await this.#stills.decode(video, payload);
    this.#tell({ kind: 'still', channel, picture });
  }

  #tune(channel: number, pressedMs: number | null): void {
    this.#leaveChannel();
    this.#pressedMs = pressedMs;
    this.#playout.restart(nowMs());
    this.#viewer.tune(channel);
  }

  /** Its last picture stays on the screen until there is another. */
  #leaveChannel(): void {
    this.#thumbnails.take();
    this.#thumbnails.channel = null;
    this.#isThere = false;
    this.#pressedMs = null;
    this.#playout.restart(nowMs());
    this.#video.forget();
    this.#sound.restart(null);
  }

  #describe(description: Description): void {
    this.#hasVideo = description.video !== null;
    this.#isThere = false;
    this.#playout.begin(this.#hasVideo);
    this.#video.restart(description.video);
    this.#sound.restart(description.audio);
    this.#tell({ kind: 'description', description });
  }

  #onFirstPicture(ptsUs: number, now: number): void {
    this.#playout.shown(ptsUs, now);
    this.#thumbnails.channel = this.#viewer.channel;
    this.#arrive(now);
  }

  #onSound(ptsUs: number, payload: Uint8Array): void {
    this.#sound.push(ptsUs, payload);
    if (!this.#hasVideo && !this.#isThere) {
      this.#arrive(nowMs());
    }
  }

  #arrive(now: number): void {
    this.#isThere = true;
    const zapMs = this.#pressedMs === null ? null : now - this.#pressedMs;
    this.#zapMs = zapMs ?? this.#zapMs;
    this.#pressedMs = null;
    const { channel } = this.#viewer;
    if (channel !== null) {
      this.#tell({ kind: 'first', channel, atMs: now, zapMs });
    }
  }

  #reportScreen(): void {
    const { meter, canvas } = this.#video;
    const { pictures, clock } = this.#playout;
    const now = nowMs();
    const report = {
      shown: meter.displayed,
      late: pictures.late,
      lost: pictures.lost,
      dropped: this.#video.dropped,
      decodeErrors: this.#video.decodeErrors + this.#sound.decodeErrors,
      ...meter.rates(now),
      layers: meter.layers,
      width: canvas.width,
      height: canvas.height,
      longestGapMs: this.#video.longestGapMs(),
      skewMs: this.#skewMs === null ? null : this.#skewMs - this.#video.lateMs,
      behindMs: this.#pace.behindMs(now),
      speed: clock.speed,
      zapMs: this.#zapMs,
    };
    this.#tell({ kind: 'screen', report });
  }

  #reportToServer(): void {
    if (!this.#welcome) {
      return;
    }
    const { late, lost } = this.#playout.pictures;
    const zap_ms = this.#zapMs;
    this.#viewer.report({ shown: this.#video.meter.displayed, late, lost, zap_ms });
  }
}
