/**
 * A television server in a page of the same browser: its WebRTC is Chromium's, its channels are
 * clips. It runs in that page alone, so everything it needs is inside of one function.
 */

export interface StudioUnit {
  readonly track: 0 | 1;
  readonly layer: number;
  /** Class and flags, as in a piece. */
  readonly flags: number;
  readonly frame: number;
  readonly ptsUs: number;
  readonly dtsUs: number;
  /** Where its bytes are among those of the clip. */
  readonly start: number;
  readonly end: number;
}

export interface StudioClip {
  readonly durationUs: number;
  readonly video: object;
  readonly audio: object;
  readonly units: readonly StudioUnit[];
}

export interface StudioChannel {
  readonly entry: { readonly id: number; readonly number: number; on_air: boolean };
  /** Its clip, where it has something to show. */
  readonly clip: number | null;
  /** How much later than the others it began. */
  readonly shiftUs: number;
}

export interface Heard {
  readonly stream: number;
  readonly type: string;
  readonly id?: number;
}

export interface Studio {
  /** Takes an offer, returns the answer. */
  accept(id: number, offer: string): Promise<string>;
  hangUp(id: number): void;
  /** Says this on a stream to all. */
  say(stream: number, message: object): void;
  /** All texts of all pages. */
  heard(): readonly Heard[];
  /** The source is lost, or comes back. */
  air(channel: number, onAir: boolean): void;
  /** Nobody may watch a channel any more. */
  take(channel: number, text: string): void;
  /** Whether there are channels yet. */
  open(isOpen: boolean): void;
}

declare global {
  interface Window {
    studio: Studio;
  }
}

/** Runs in the page. */
export function installStudio({
  channels,
  clips,
  media,
}: {
  readonly channels: readonly StudioChannel[];
  readonly clips: readonly StudioClip[];
  /** Where the bytes of the clips are. */
  readonly media: readonly string[];
}): void {
  const STREAMS = 35;
  const PAYLOAD_MAX = 16_000;
  interface Viewer {
    readonly peer: RTCPeerConnection;
    readonly streams: readonly RTCDataChannel[];
    /** What is watched: the next unit, and in which round of the clip. */
    watched: { channel: StudioChannel; slot: number; next: number; round: number } | null;
  }
  const viewers = new Map<number, Viewer>();
  const heard: Heard[] = [];
  const bytes = media.map(async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer()));
  const loaded: Uint8Array[] = [];
  void Promise.all(bytes).then((all) => loaded.push(...all));
  const nowUs = () => performance.now() * 1000 + 60_000_000;
  const taken = new Set<number>();
  let isOpen = true;
  const list = () =>
    channels.map(({ entry }) => entry).filter(({ id }) => isOpen && !taken.has(id));

  /** Seven bits a byte, the lowest first. */
  const varint = (value: number): number[] =>
    value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];

  const say = (viewer: Viewer, stream: number, message: object) => {
    const channel = viewer.streams[stream];
    if (channel?.readyState === 'open') {
      channel.send(JSON.stringify(message));
    }
  };

  /** When a unit came to the server. */
  const atUs = (channel: StudioChannel, clip: StudioClip, unit: StudioUnit, round: number) =>
    channel.shiftUs + round * clip.durationUs + unit.dtsUs;

  const describe = (viewer: Viewer, channel: StudioChannel, slot: number) => {
    const clip = clips[channel.clip ?? -1];
    const stream = 2 + 4 * slot;
    if (clip === undefined || !channel.entry.on_air) {
      const text = 'its source does not answer';
      say(viewer, stream, { type: 'off_air', channel: channel.entry.id, text });
      viewer.watched = null;
      return;
    }
    const { video, audio } = clip;
    const description = { channel: channel.entry.id, session: channel.entry.id, video, audio };
    say(viewer, stream, { type: 'description', bits_per_second: 2_000_000, ...description });
    const sinceUs = nowUs() - channel.shiftUs;
    const round = Math.floor(sinceUs / clip.durationUs);
    const within = sinceUs - round * clip.durationUs;
    const key = clip.units.findLastIndex(
      ({ track, layer, flags, dtsUs }) =>
        track === 0 && layer === 0 && (flags & 0x0f) === 1 && dtsUs <= within,
    );
    viewer.watched = { channel, slot, next: Math.max(0, key), round };
  };

  const sendUnit = (viewer: Viewer, clip: StudioClip, unit: StudioUnit) => {
    const { watched } = viewer;
    if (watched === null) {
      return;
    }
    const { channel, slot, round } = watched;
    const payload = loaded[channel.clip ?? 0]?.subarray(unit.start, unit.end) ?? new Uint8Array();
    const fragments = Math.max(1, Math.ceil(payload.length / PAYLOAD_MAX));
    const bases = clip.units.filter(({ track, layer }) => track === unit.track && layer === 0);
    const stream = 2 + 4 * slot + (unit.track === 1 ? 3 : 1 + Math.min(unit.layer, 1));
    const ptsUs = Math.round(round * clip.durationUs + unit.ptsUs);
    const cameUs = Math.round(atUs(channel, clip, unit, round));
    for (let fragment = 0; fragment < fragments; fragment++) {
      const part = payload.subarray(fragment * PAYLOAD_MAX, (fragment + 1) * PAYLOAD_MAX);
      const last = fragment + 1 === fragments ? 0x80 : 0;
      const fixed = [0x21, last | unit.flags, 0, channel.entry.id, 0, unit.track, unit.layer, 1];
      const frame = round * bases.length + unit.frame;
      const numbers = [frame, fragment, 0, 0, 2 * ptsUs, 0, cameUs, 1].flatMap(varint);
      viewer.streams[stream]?.send(new Uint8Array([...fixed, ...numbers, ...part]));
    }
  };

  /** Sends the next unit of a viewer if it came already; false if there is none. */
  const advance = (viewer: Viewer): boolean => {
    const { watched } = viewer;
    const clip = clips[watched?.channel.clip ?? -1];
    if (watched === null || clip === undefined || loaded.length < media.length) {
      return false;
    }
    const unit = clip.units[watched.next];
    if (unit === undefined) {
      watched.next = 0;
      watched.round += 1;
      return true;
    }
    if (atUs(watched.channel, clip, unit, watched.round) > nowUs()) {
      return false;
    }
    sendUnit(viewer, clip, unit);
    watched.next += 1;
    return true;
  };

  const tick = () => {
    for (const viewer of viewers.values()) {
      while (advance(viewer)) {}
    }
  };

  const obey = (viewer: Viewer, stream: number, message: Record<string, unknown>) => {
    if (message.type === 'hello') {
      const welcome = { protocol: 2, program: 'studio', latency_ms: message.latency_ms };
      say(viewer, 0, {
        type: 'welcome',
        ...welcome,
        now_us: Math.round(nowUs()),
        channels: list(),
      });
    } else if (message.type === 'still') {
      const none = { session: 0, frame: 0, video: null };
      say(viewer, stream, { type: 'still', channel: message.channel, ...none });
    } else if (message.type === 'tune') {
      const channel = channels.find(({ entry }) => entry.id === message.channel);
      if (channel !== undefined) {
        describe(viewer, channel, (stream - 2) / 4);
        tick();
      }
    }
  };

  window.studio = {
    accept: async (id, offer) => {
      const peer = new RTCPeerConnection();
      const streams = Array.from({ length: STREAMS }, (_, stream) =>
        peer.createDataChannel('', { negotiated: true, id: stream, ordered: stream % 4 === 2 }),
      );
      const viewer: Viewer = { peer, streams, watched: null };
      viewers.set(id, viewer);
      for (const [stream, channel] of streams.entries()) {
        channel.onmessage = ({ data }) => {
          const message = JSON.parse(data);
          heard.push({ stream, ...message });
          obey(viewer, stream, message);
        };
        channel.onclose = () => viewers.delete(id);
      }
      await peer.setRemoteDescription({ type: 'offer', sdp: offer });
      await peer.setLocalDescription();
      while (peer.iceGatheringState !== 'complete') {
        await new Promise((done) => setTimeout(done, 5));
      }
      return peer.localDescription?.sdp ?? '';
    },
    hangUp: (id) => {
      viewers.get(id)?.peer.close();
      viewers.delete(id);
    },
    say: (stream, message) => {
      for (const viewer of viewers.values()) {
        say(viewer, stream, message);
      }
    },
    heard: () => heard,
    air: (id, onAir) => {
      const channel = channels.find(({ entry }) => entry.id === id);
      if (channel === undefined) {
        return;
      }
      channel.entry.on_air = onAir;
      for (const viewer of viewers.values()) {
        const slot = viewer.watched?.channel === channel ? viewer.watched.slot : null;
        say(viewer, 0, { type: 'channels', channels: list() });
        if (slot !== null) {
          describe(viewer, channel, slot);
        }
      }
    },
    take: (id, text) => {
      taken.add(id);
      for (const viewer of viewers.values()) {
        if (viewer.watched?.channel.entry.id === id) {
          say(viewer, 2 + 4 * viewer.watched.slot, { type: 'off_air', channel: id, text });
          viewer.watched = null;
        }
        say(viewer, 0, { type: 'channels', channels: list() });
      }
    },
    open: (isNowOpen) => {
      isOpen = isNowOpen;
      for (const viewer of viewers.values()) {
        say(viewer, 0, { type: 'channels', channels: list() });
      }
    },
  };
  setInterval(tick, 8);
}
