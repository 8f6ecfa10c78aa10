/** Serves the built page and speaks docs/page-protocol.md over an invented world. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { encodeMediaUnit } from '../src/protocol/media-unit';
import { PRESETS } from '../src/protocol/program';
import type { PageRequest } from '../src/protocol/requests';
import { CHANNELS, tune } from './channels';
import type { Clip, ClipUnit } from './clip';
import { servePage, TOKEN } from './serve';
import { type Fate, presetTreatments, World } from './world';

const TICK_MS = 10;
const STATS_MS = 200;

/** What a server does that a program may do, too. */
export interface Options {
  readonly port?: number;
  /** No link settings, no treatments, unknowns as null: what `anabranch recv --page` knows. */
  readonly asReceiver?: boolean;
  /** Channels to choose from: what `anabranch watch` has beside that. */
  readonly asViewer?: boolean;
}

interface Waiting {
  readonly dueMs: number;
  readonly unit: ClipUnit;
  readonly loop: number;
  readonly fate: Fate;
}

export class MockServer {
  readonly world = new World();
  /** Every request of a page, in order. */
  readonly requests: PageRequest[] = [];
  /** Units that are lost whatever the links do. */
  withhold: (unit: ClipUnit) => boolean = () => false;
  /** Pictures are replaced by garbage. */
  spoil = false;
  readonly #clip: Clip;
  readonly #options: Options;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #startMs = performance.now();
  #waiting: Waiting[] = [];
  readonly #following = new WeakSet<WebSocket>();
  #baseCame = false;
  #chainBroken = false;
  #next = 0;
  #loop = 0;
  #eventsSent = 0;
  #chosen = 1;

  static async start(clip: Clip, options: Options = {}): Promise<MockServer> {
    const server = new MockServer(clip, options);
    await new Promise<void>((done) =>
      server.#http.listen(options.port ?? 0, '127.0.0.1', () => done()),
    );
    return server;
  }

  private constructor(clip: Clip, options: Options) {
    this.#clip = clip;
    this.#options = options;
    this.#http = createServer(
      (request, response) => void servePage('index.html', request, response),
    );
    this.#sockets = new WebSocketServer({ server: this.#http, path: `/${TOKEN}/socket` });
    this.#sockets.on('connection', (socket) => this.#greet(socket));
    this.#timers.push(
      setInterval(() => this.#tick(), TICK_MS),
      setInterval(() => this.broadcast(this.#stats()), STATS_MS),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/${TOKEN}/`;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) {
      clearInterval(timer);
    }
    this.dropPages();
    await new Promise((done) => this.#http.close(done));
  }

  /** Cuts the connections to all pages, as a program that dies does. */
  dropPages(): void {
    for (const socket of this.#sockets.clients) {
      socket.terminate();
    }
  }

  /** Sends a message, or a text that is none, to all pages. */
  broadcast(message: object | string): void {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    for (const socket of this.#sockets.clients) {
      socket.send(text);
    }
  }

  get nowMs(): number {
    return performance.now() - this.#startMs + 1000;
  }

  #greet(socket: WebSocket): void {
    socket.send(JSON.stringify(this.hello()));
    for (const event of this.world.events.slice(-50)) {
      socket.send(JSON.stringify({ type: 'event', ...event }));
    }
    socket.send(JSON.stringify(this.#treatments()));
    if (this.#options.asViewer) {
      socket.send(JSON.stringify({ type: 'channels', channels: CHANNELS }));
      this.#choose(socket, this.#chosen);
    }
    socket.on('message', (data) => this.#onRequest(socket, JSON.parse(String(data))));
  }

  #onRequest(socket: WebSocket, request: PageRequest): void {
    this.requests.push(request);
    const { world, nowMs } = this;
    switch (request.type) {
      case 'set_link': {
        const { type, path, ...link } = request;
        if (!world.setLink(path, link, nowMs)) {
          socket.send(
            JSON.stringify({
              type: 'error',
              request: type,
              text: `Path ${path} does not exist; there are paths 1 and 2.`,
            }),
          );
        }
        return;
      }
      case 'set_treatment': {
        const { type, ...treatment } = request;
        world.treatments = world.treatments.map((row) =>
          row.class === treatment.class ? treatment : row,
        );
        const preset = PRESETS.find(
          (name) => JSON.stringify(presetTreatments(name)) === JSON.stringify(world.treatments),
        );
        world.preset = preset ?? null;
        this.broadcast(this.#treatments());
        return;
      }
      case 'preset':
        world.preset = request.preset;
        world.treatments = presetTreatments(request.preset);
        this.broadcast(this.#treatments());
        return;
      case 'set_latency':
        world.latencyMs = request.latency_ms;
        return;
      case 'choose':
        this.#choose(socket, request.number);
        return;
      case 'seen':
      case 'page_stats':
    }
  }

  #choose(socket: WebSocket, number: number): void {
    const answers = tune(number);
    if (answers.length > 1) {
      this.#chosen = number;
    }
    for (const answer of answers) {
      socket.send(JSON.stringify(answer ?? this.hello()));
    }
  }

  #tick(): void {
    const now = this.nowMs;
    this.world.tick(now);
    this.#sendDueUnits(now);
    this.#playOutDueUnits(now);
    for (const event of this.world.events.slice(this.#eventsSent)) {
      this.broadcast({ type: 'event', ...event });
    }
    this.#eventsSent = this.world.events.length;
  }

  #sendDueUnits(now: number): void {
    for (;;) {
      const unit = this.#clip.units[this.#next];
      if (unit === undefined) {
        this.#next = 0;
        this.#loop += 1;
        continue;
      }
      const atMs = 1000 + (this.#loop * this.#clip.durationUs + unit.dtsUs) / 1000;
      if (atMs > now) {
        return;
      }
      this.#next += 1;
      const sent = this.world.send(unit, atMs);
      const fate = { ...sent, arrived: sent.arrived && !this.withhold(unit) };
      this.#waiting.push({ dueMs: atMs + this.world.latencyMs, unit, loop: this.#loop, fate });
    }
  }

  #playOutDueUnits(now: number): void {
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= now);
    this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > now);
    const arrived = due.filter((waiting) => this.#arrives(waiting));
    for (const [index, waiting] of arrived.entries()) {
      const next = arrived[index + 1]?.unit;
      const last = next?.track !== waiting.unit.track || next.layer !== waiting.unit.layer + 1;
      const bytes = this.#encode(waiting, last);
      for (const socket of this.#sockets.clients) {
        if (this.#follows(socket, waiting.unit)) {
          socket.send(bytes);
        }
      }
    }
  }

  /** A page gets media from a key frame on. */
  #follows(socket: WebSocket, { track, layer, key }: ClipUnit): boolean {
    if (track === 'video' && layer === 0 && key) {
      this.#following.add(socket);
    }
    return this.#following.has(socket);
  }

  /** A picture is of use only from its base upwards. */
  #arrives({ unit, fate }: Waiting): boolean {
    if (unit.track === 'video' && unit.layer === 0) {
      this.#baseCame = fate.arrived;
      this.#chainBroken ||= !fate.arrived;
    }
    return fate.arrived && (unit.track === 'audio' || this.#baseCame);
  }

  #encode({ dueMs, unit, loop, fate }: Waiting, last: boolean): Uint8Array {
    const round = this.#clip.units.filter(
      ({ track, layer }) => track === unit.track && layer === 0,
    );
    const spoilt = this.spoil && unit.track === 'video';
    return encodeMediaUnit({
      ...unit,
      discontinuity: this.#takeBreak(unit),
      last,
      frame: unit.frame + loop * round.length,
      ptsUs: unit.ptsUs + loop * this.#clip.durationUs,
      playAtUs: dueMs * 1000 + unit.ptsUs - unit.dtsUs,
      delayMs: fate.delayMs,
      payload: spoilt ? unit.bytes.map((byte) => ~byte) : unit.bytes,
    });
  }

  /** Whether a base picture before this one is missing, told once. */
  #takeBreak(unit: ClipUnit): boolean {
    const broken = unit.track === 'video' && unit.layer === 0 && this.#chainBroken;
    this.#chainBroken &&= !broken;
    return broken;
  }

  /** The greeting, as a page gets it that comes now. */
  hello(): object {
    const clip = this.#clip;
    const controls = this.#options.asReceiver
      ? {
          links: null,
          treatments: null,
          latency_ms: null,
          channels: this.#options.asViewer ?? false,
        }
      : {
          links: { rate_kbps: [100, 100_000], delay_ms: [0, 1000], loss_percent: [0, 50] },
          treatments: { priority: [0, 7], lifetime_ms: [10, 10_000], max_retransmissions: [0, 20] },
          latency_ms: [20, 5000],
          channels: false,
        };
    return {
      type: 'hello',
      protocol: 1,
      program: 'anabranch (mock server)',
      mode: this.#options.asReceiver ? 'recv' : 'demo',
      title: clip.title,
      now_us: Math.round(this.nowMs * 1000),
      latency_ms: this.world.latencyMs,
      video: {
        codec: clip.videoCodec,
        format: clip.videoFormat,
        width: clip.width,
        height: clip.height,
        fps: clip.fps,
      },
      audio: {
        codec: clip.audioCodec,
        format: clip.audioFormat,
        sample_rate: clip.sampleRate,
        channels: clip.channels,
      },
      not_played: [],
      attribution: {
        text: `${clip.title}, ${clip.attribution}`,
        url: clip.url,
        license: clip.license,
        license_url: clip.licenseUrl,
      },
      paths: this.world
        .pathStats(this.nowMs)
        .map(({ id, name, local, remote }) => ({ id, name, local, remote })),
      layers: this.#layers(),
      classes: this.#options.asReceiver
        ? []
        : [
            { id: 'video_key', name: 'Key frames' },
            { id: 'video_base', name: 'Base picture' },
            { id: 'video_enhancement', name: 'Enhancement' },
            { id: 'audio', name: 'Sound' },
            { id: 'control', name: 'Control' },
          ],
      controls,
    };
  }

  #layers(): object[] {
    const sound = { id: 'audio', name: 'Sound' };
    return this.#clip.units.some(({ layer }) => layer > 0)
      ? [{ id: 'base', name: 'Base picture' }, { id: 'enhancement', name: 'Enhancement' }, sound]
      : [{ id: 'base', name: 'Picture' }, sound];
  }

  #treatments(): object {
    return { type: 'treatments', preset: this.world.preset, treatments: this.world.treatments };
  }

  #stats(): object {
    const { world } = this;
    const sorted = [...world.delaysMs].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
    const paths = world.pathStats(this.nowMs);
    return {
      type: 'stats',
      now_us: Math.round(this.nowMs * 1000),
      paths: this.#options.asReceiver
        ? paths.map((path) => ({
            ...path,
            cwnd_bytes: null,
            flight_bytes: null,
            sent_packets: null,
            lost_packets: null,
            sent_bytes: null,
            link: null,
          }))
        : paths,
      layers: this.#options.asReceiver
        ? world
            .layerStats()
            .map((layer) => ({ ...layer, sent: null, retransmitted: null, abandoned: null }))
        : world.layerStats(),
      levels: world.levels,
      frames: world.frames,
      delay_ms:
        sorted.length === 0 ? null : { now: world.delaysMs.at(-1), p50: at(0.5), p95: at(0.95) },
      buffer_ms: world.latencyMs - at(0.5),
      latency_ms: world.latencyMs,
      advised_latency_ms: 120,
    };
  }
}
