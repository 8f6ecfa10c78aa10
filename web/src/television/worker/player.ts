/** Watches channels: from the data channels to screen and sound. */

import { nowMs, nowUs } from '../../media/now';
import { superframe } from '../../media/superframe';
import { type Bridged, BridgedLink, type Link, OwnLink } from '../../rtc/link';
import { Output } from '../../worker/output';
import { SoundFeed } from '../../worker/sound-feed';
import { type Coded, Video } from '../../worker/video';
import { Playout, type Released } from '../playout/playout';
import type { Description, VideoFormat } from '../protocol/control';
import { Viewer } from '../viewer';
import type { FromPlayer, ToPlayer } from './messages';
import { StillDecoder } from './still-decoder';
import { Thumbnails } from './thumbnails';

const PROGRAM = 'anabranch page';
const POLL_MS = 10;
const SCREEN_REPORT_MS = 250;
const SERVER_REPORT_MS = 1_000;

/** A picture, ready for the decoder, and where it stands in the media. */
interface Timed extends Coded {
  readonly ptsUs: number;
}

export class Player {
  readonly #tell: (message: FromPlayer) => void;
  readonly #playout = new Playout((released) => this.#onReleased(released));
  readonly #output: Output<Timed>;
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

  constructor(canvas: OffscreenCanvas, tell: (message: FromPlayer) => void) {
    this.#tell = tell;
    const dueMs = (ptsUs: number) => this.#playout.playAtUs(ptsUs) / 1_000;
    const video = new Video<Timed>(canvas, {
      dueMs: ({ ptsUs }, now) => (this.#isFirst(ptsUs, now) ? null : dueMs(ptsUs)),
      onObstacle: (text) => tell({ kind: 'obstacle', text }),
    });
    const sound = new SoundFeed(dueMs, (ptsUs) => this.#playout.speed(ptsUs));
    this.#output = new Output(video, sound);
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
      default:
        this.#output.on(message);
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
        ? new BridgedLink((stream, data) => this.#tell({ kind: 'say', stream, data }), user)
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
    this.#output.video.forget();
    this.#output.sound.restart(null);
  }

  #describe(description: Description): void {
    this.#hasVideo = description.video !== null;
    this.#isThere = false;
    this.#playout.begin(this.#hasVideo);
    this.#output.video.restart(description.video);
    this.#output.sound.restart(description.audio);
    this.#tell({ kind: 'description', description });
  }

  /** Whether it is the first picture of what was asked for last, which is shown at once. */
  #isFirst(ptsUs: number, now: number): boolean {
    if (this.#isThere) {
      return false;
    }
    this.#playout.shown(ptsUs, nowUs());
    this.#thumbnails.channel = this.#viewer.channel;
    this.#arrive(now);
    return true;
  }

  #onReleased({ track, ptsUs, layers, ...picture }: Released): void {
    const { video, sound } = this.#output;
    if (track === 'video') {
      const [base, data] = [layers[0] ?? new Uint8Array(), superframe(layers)];
      video.push({ ...picture, ptsUs, layers: layers.length, data, base });
      return;
    }
    for (const payload of layers) {
      sound.push(ptsUs, payload);
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
    const { late, lost, place } = this.#playout;
    const behindMs = place.behindUs === null ? null : place.behindUs / 1_000;
    const [{ speed }, zapMs] = [place, this.#zapMs];
    const report = { ...this.#output.report(), late, lost, behindMs, speed, zapMs };
    this.#tell({ kind: 'screen', report });
  }

  #reportToServer(): void {
    if (!this.#welcome) {
      return;
    }
    const { late, lost } = this.#playout;
    const [shown, zap_ms] = [this.#output.video.meter.displayed, this.#zapMs];
    this.#viewer.report({ shown, late, lost, zap_ms });
  }
}
