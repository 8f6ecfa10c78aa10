/**
 * An invented sender, receiver and two networks: plausible numbers that answer to the page's
 * requests.
 */

import type {
  LayerStats,
  LevelStats,
  LinkSettings,
  PathState,
  PathStats,
  Preset,
  ProgramEvent,
  Reliability,
  Tally,
  Treatment,
} from '../src/protocol/program';
import type { ClipUnit } from './clip';

const POTENTIALLY_FAILED_AFTER_MS = 120;
const INACTIVE_AFTER_MS = 900;
const BACK_AFTER_MS = 400;
const PACKET_BYTES = 1200;

/** Seeded, so that every run of the mock server looks alike (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Path {
  readonly id: number;
  readonly name: string;
  link: LinkSettings;
  state: PathState = 'active';
  cutAtMs: number | null = null;
  mendedAtMs: number | null = null;
  sentPackets = 0;
  lostPackets = 0;
  sentBytes = 0;
  deliveredBytes = 0;
  /** When the link has sent what was given to it. */
  freeAtMs = 0;

  constructor(id: number, name: string, link: LinkSettings) {
    this.id = id;
    this.name = name;
    this.link = link;
  }
}

class Layer {
  sent = empty();
  inTime = empty();
  late = empty();
  retransmitted = empty();
  lifetime = empty();
  retransmissions = empty();
  beforeSending = empty();
}

export const CLASSES = [
  'video_key',
  'video_base',
  'video_enhancement',
  'audio',
  'control',
] as const;

/** What happened to one unit. */
export interface Fate {
  readonly arrived: boolean;
  readonly delayMs: number;
}

export class World {
  readonly paths = [
    new Path(1, 'wifi', { rate_kbps: 20_000, delay_ms: 10, loss_percent: 0.2, cut: false }),
    new Path(2, 'mobile', { rate_kbps: 10_000, delay_ms: 30, loss_percent: 1, cut: false }),
  ];
  readonly layers = { base: new Layer(), enhancement: new Layer(), audio: new Layer() };
  readonly frames = { shown: 0, late: 0, lost: 0 };
  /** What waits to be read by level: nothing for long, but where a test says so. */
  levels: readonly LevelStats[] = [0.1, 0.1, 0.2, 0.2].map((wait) => ({
    waiting: 0,
    dropped: 0,
    wait_p50_ms: wait / 2,
    wait_p99_ms: wait,
  }));
  readonly events: ProgramEvent[] = [];
  preset: Preset | null = 'layered';
  treatments: Treatment[] = presetTreatments('layered');
  latencyMs = 200;
  delaysMs: number[] = [];
  primary = 1;
  #random = generator(7);

  /** Sends a unit; the caller delivers it at its deadline if it arrived. */
  send(unit: ClipUnit, nowMs: number): Fate {
    const layer = this.#layerOf(unit);
    const path = this.paths.find(({ id }) => id === this.primary);
    const size = unit.bytes.length;
    if (path === undefined || path.freeAtMs - nowMs > this.latencyMs / 2) {
      add(layer.beforeSending, size);
      return this.#count(unit, { arrived: false, delayMs: 0 });
    }
    const fate = this.#carry(path, size, nowMs, this.#treatmentOf(unit), layer);
    return this.#count(unit, fate);
  }

  /** Moves the path states on. */
  tick(nowMs: number): void {
    for (const path of this.paths) {
      this.#tickPath(path, nowMs);
      // Heartbeats.
      path.sentPackets += this.#random() < 0.05 ? 1 : 0;
    }
    if (this.paths.find(({ id }) => id === this.primary)?.state !== 'active') {
      const next = this.paths.find(({ state }) => state === 'active');
      if (next !== undefined) {
        this.primary = next.id;
        this.event(
          nowMs,
          'info',
          'primary_changed',
          next.id,
          `The primary path is now ${next.name}.`,
        );
      }
    }
  }

  setLink(id: number, link: LinkSettings, nowMs: number): boolean {
    const path = this.paths.find((candidate) => candidate.id === id);
    if (path === undefined) {
      return false;
    }
    if (link.cut && !path.link.cut) {
      path.cutAtMs = nowMs;
      this.event(nowMs, 'warning', 'link_cut', id, `The link of ${path.name} was cut.`);
    }
    if (!link.cut && path.link.cut) {
      path.cutAtMs = null;
      path.mendedAtMs = nowMs;
      this.event(nowMs, 'info', 'link_restored', id, `The link of ${path.name} was mended.`);
    }
    path.link = link;
    return true;
  }

  event(
    nowMs: number,
    severity: ProgramEvent['severity'],
    kind: string,
    path: number | null,
    text: string,
  ): void {
    const id = (this.events.at(-1)?.id ?? 0) + 1;
    this.events.push({ id, at_us: Math.round(nowMs * 1000), severity, kind, path, text });
  }

  pathStats(nowMs: number): PathStats[] {
    return this.paths.map((path) => ({
      id: path.id,
      name: path.name,
      local: `127.0.0.1:4000${path.id}`,
      remote: `127.0.0.1:4010${path.id}`,
      state: path.state,
      primary: path.id === this.primary,
      rtt_ms: 2 * path.link.delay_ms + 1.5 + this.#random() * 2,
      cwnd_bytes: Math.round(
        path.link.cut ? 1200 : 30_000 + 9_000 * Math.sin(nowMs / 1700 + path.id),
      ),
      flight_bytes: Math.max(0, Math.round((path.freeAtMs - nowMs) * path.link.rate_kbps * 0.125)),
      sent_packets: path.sentPackets,
      lost_packets: path.lostPackets,
      sent_bytes: path.sentBytes,
      delivered_bytes: path.deliveredBytes,
      link: path.link,
    }));
  }

  layerStats(): LayerStats[] {
    return Object.entries(this.layers).map(([id, layer]) => ({
      id,
      sent: layer.sent,
      in_time: layer.inTime,
      late: layer.late,
      retransmitted: layer.retransmitted,
      abandoned: {
        lifetime: layer.lifetime,
        retransmissions: layer.retransmissions,
        before_sending: layer.beforeSending,
      },
    }));
  }

  #carry(path: Path, size: number, nowMs: number, how: Reliability, layer: Layer): Fate {
    const packets = Math.ceil(size / PACKET_BYTES);
    add(layer.sent, size);
    path.sentPackets += packets;
    path.sentBytes += size;
    path.freeAtMs = Math.max(nowMs, path.freeAtMs) + (size * 8) / path.link.rate_kbps;
    let delayMs = path.freeAtMs - nowMs + path.link.delay_ms + this.#random() * 3;
    const lost = path.link.cut ? packets : this.#lost(packets, path.link.loss_percent / 100);
    path.lostPackets += lost;
    if (lost > 0) {
      if (
        typeof how !== 'string' &&
        'max_retransmissions' in how &&
        how.max_retransmissions === 0
      ) {
        add(layer.retransmissions, size);
        return { arrived: false, delayMs };
      }
      add(layer.retransmitted, lost * PACKET_BYTES, lost);
      delayMs += 3 * path.link.delay_ms + (path.link.cut ? POTENTIALLY_FAILED_AFTER_MS : 20);
    }
    if (delayMs > this.latencyMs) {
      add(layer.lifetime, size);
      return { arrived: false, delayMs };
    }
    path.deliveredBytes += path.link.cut ? 0 : size;
    return { arrived: true, delayMs };
  }

  #lost(packets: number, probability: number): number {
    return Array.from({ length: packets }, () => this.#random()).filter((x) => x < probability)
      .length;
  }

  #count(unit: ClipUnit, fate: Fate): Fate {
    if (fate.arrived) {
      add(this.#layerOf(unit).inTime, unit.bytes.length);
    }
    if (unit.track === 'video' && unit.layer === 0) {
      this.frames[fate.arrived ? 'shown' : 'lost'] += 1;
      this.delaysMs = [...this.delaysMs.slice(-249), fate.delayMs];
    }
    return fate;
  }

  #tickPath(path: Path, nowMs: number): void {
    const cutForMs = path.cutAtMs === null ? 0 : nowMs - path.cutAtMs;
    if (path.state === 'active' && cutForMs > POTENTIALLY_FAILED_AFTER_MS) {
      path.state = 'potentially_failed';
      this.event(
        nowMs,
        'warning',
        'path_potentially_failed',
        path.id,
        `${path.name} may have failed: nothing was acknowledged.`,
      );
    } else if (path.state === 'potentially_failed' && cutForMs > INACTIVE_AFTER_MS) {
      path.state = 'inactive';
      this.event(nowMs, 'bad', 'path_failed', path.id, `${path.name} failed.`);
    } else if (
      path.state !== 'active' &&
      path.mendedAtMs !== null &&
      nowMs - path.mendedAtMs > BACK_AFTER_MS &&
      !path.link.cut
    ) {
      path.state = 'active';
      this.event(nowMs, 'good', 'path_active', path.id, `${path.name} is back.`);
    }
  }

  #layerOf(unit: ClipUnit): Layer {
    if (unit.track === 'audio') {
      return this.layers.audio;
    }
    return unit.layer === 0 ? this.layers.base : this.layers.enhancement;
  }

  #treatmentOf(unit: ClipUnit): Reliability {
    const kind =
      unit.track === 'audio'
        ? 'audio'
        : unit.layer > 0
          ? 'video_enhancement'
          : unit.key
            ? 'video_key'
            : 'video_base';
    return this.treatments.find((row) => row.class === kind)?.reliability ?? 'reliable';
  }
}

export function presetTreatments(preset: Preset): Treatment[] {
  const enhancement: Record<Preset, Reliability> = {
    reliable: 'reliable',
    layered: { lifetime_ms: 150 },
    live: { max_retransmissions: 0 },
  };
  return CLASSES.map((name, index) => ({
    class: name,
    reliability:
      name === 'video_enhancement'
        ? enhancement[preset]
        : preset === 'live'
          ? { lifetime_ms: 200 }
          : 'reliable',
    ordered: preset === 'reliable',
    priority: index,
    path: null,
  }));
}

function empty(): { messages: number; bytes: number } {
  return { messages: 0, bytes: 0 };
}

function add(tally: { -readonly [K in keyof Tally]: Tally[K] }, bytes: number, messages = 1): void {
  tally.messages += messages;
  tally.bytes += bytes;
}
