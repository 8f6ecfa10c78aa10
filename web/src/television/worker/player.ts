/** Watches channels: from the data channels to screen and sound. */

import { nowMs, nowUs } from '../../media/now';
import { SoundFeed } from '../../worker/sound-feed';
import { Playout, type Released } from '../playout/playout';
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
  readonly #playout = new Playout((released) => this.#onReleased(released));
  readonly #video: Video;
  readonly #sound: SoundFeed;
  readonly #thumbnails: Thumbnails;
  readonly #stills = new StillDecoder();
  #viewer = this.#newViewer();
  #link: Link | null = null;
  #attempt = 0;
  #welcome = false;
  #hasVideo = false;
  /** When the channel was asked for, until it is there. */
  #pressedMs: number | null = null;
  #zapMs: number | null = null;
  #isThere = false;
  #skewMs: number | null = null;

  constructor(canvas: OffscreenCanvas, tell: (message: FromPlayer) => void) {
    this.#tell = tell;
    const dueMs = (ptsUs: number) => this.#playout.playAtUs(ptsUs) / 1_000;
    this.#video = new Video(canvas, {
      dueMs,
      onFirst: (ptsUs, now) => this.#onFirstPicture(ptsUs, now),
      onObstacle: (text) => tell({ kind: 'obstacle', text }),
    });
    this.#sound = new SoundFeed(dueMs, (ptsUs) => this.#playout.speed(ptsUs));
    this.#thumbnails = new Thumbnails(canvas, (channel, picture) =>
      tell({ kind: 'thumbnail', channel, picture }),
    );
    setInterval(() => this.#playout.poll(nowUs()), POLL_MS);
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
        this.#playout.setBudget(message.latencyMs * 1_000);
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
    this.#playout.connect(latencyMs * 1_000);
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
      onWelcome: (program, atUs, channels) => {
        this.#welcome = true;
        this.#playout.observe(nowUs(), atUs);
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
        this.#playout.push(unit, nowUs());
        this.#playout.poll(nowUs());
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
    this.#viewer.tune(channel);
  }

  /** Its last picture stays on the screen until there is another. */
  #leaveChannel(): void {
    this.#thumbnails.take();
    this.#thumbnails.channel = null;
    this.#isThere = false;
    this.#pressedMs = null;
    this.#playout.begin(true);
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
    this.#playout.shown(ptsUs, nowUs());
    this.#thumbnails.channel = this.#viewer.channel;
    this.#arrive(now);
  }

  #onReleased(released: Released): void {
    if (released.track === 'video') {
      this.#video.push(released);
      return;
    }
    const [payload] = released.layers;
    if (payload !== undefined) {
      this.#sound.push(released.ptsUs, payload);
    }
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
    const { late, lost, place } = this.#playout;
    const report = {
      shown: meter.displayed,
      late,
      lost,
      dropped: this.#video.dropped,
      decodeErrors: this.#video.decodeErrors + this.#sound.decodeErrors,
      ...meter.rates(nowMs()),
      layers: meter.layers,
      width: canvas.width,
      height: canvas.height,
      longestGapMs: this.#video.longestGapMs(),
      skewMs: this.#skewMs === null ? null : this.#skewMs - this.#video.lateMs,
      behindMs: place.behindUs === null ? null : place.behindUs / 1_000,
      speed: place.speed,
      zapMs: this.#zapMs,
    };
    this.#tell({ kind: 'screen', report });
  }

  #reportToServer(): void {
    if (!this.#welcome) {
      return;
    }
    const { late, lost } = this.#playout;
    const zap_ms = this.#zapMs;
    this.#viewer.report({ shown: this.#video.meter.displayed, late, lost, zap_ms });
  }
}
