/** The invented networks of a call: what a page shows of them and may ask of them. */

import type { CallPath, CallState } from '../src/call/protocol/agent';
import type { CallRequest } from '../src/call/protocol/requests';

interface Event {
  readonly type: 'event';
  readonly id: number;
  readonly text: string;
}

type PathRequest = Extract<CallRequest, { type: 'path_use' | 'primary' | 'leave' | 'voice_twice' }>;

const WIFI: CallPath = {
  id: 0,
  name: 'wlan0',
  local: '192.0.2.7:41000',
  remote: '198.51.100.5:9000',
  state: 'active',
  use: 'use',
  primary: true,
  rtt_ms: 21.4,
  loss_percent: 0.4,
  sends_kbps: 812,
  receives_kbps: 790.5,
  carries: ['voice', 'video'],
  handoff_ms: null,
};
const MOBILE: CallPath = {
  ...WIFI,
  id: 1,
  name: 'wwan0',
  local: '10.64.0.2:41001',
  primary: false,
  rtt_ms: 62,
  loss_percent: 0,
  sends_kbps: 44.1,
  receives_kbps: 43,
  carries: ['voice'],
  handoff_ms: 63,
};

export class CallNetworks {
  paths: readonly CallPath[] = [WIFI, MOBILE];
  readonly events: Event[] = [];
  readonly voice = { heard: 0, concealed: 0 };
  readonly video = { shown: 0, lost: 0 };
  #twice = true;

  event(atUs: number, severity: string, kind: string, text: string, path: number | null): object {
    const id = this.events.length + 1;
    const event = { type: 'event' as const, id, at_us: atUs, severity, kind, path, text };
    this.events.push(event);
    return event;
  }

  /** The messages that answer a request. */
  obey(request: PathRequest, nowUs: number): readonly object[] {
    if (request.type === 'voice_twice') {
      this.#twice = request.on;
      return [];
    }
    const path = this.paths.find(({ id }) => id === request.path);
    if (path === undefined) {
      const text = `Path ${request.path} does not exist; there are paths 0 and 1.`;
      return [{ type: 'error', request: request.type, text }];
    }
    switch (request.type) {
      case 'primary':
        this.paths = this.paths.map((other) => ({ ...other, primary: other.id === path.id }));
        return [];
      case 'path_use':
        this.#set(path.id, request.use);
        return [];
      case 'leave': {
        this.#set(path.id, 'never');
        const text = `Left ${path.name}; nothing was lost and nothing waited.`;
        return [this.event(nowUs, 'good', 'handoff', text, path.id)];
      }
    }
  }

  stats(
    nowUs: number,
    state: CallState['state'],
    encode: { readonly video_bps: number; readonly voice_bps: number },
  ): object {
    const isCall = state === 'in_call';
    const idle = { sends_kbps: 0, receives_kbps: 0, carries: [] };
    const gone = state === 'no_path' ? { state: 'inactive', rtt_ms: null } : {};
    const { heard, concealed } = this.voice;
    return {
      type: 'stats',
      now_us: nowUs,
      paths: this.paths.map((path) => ({ ...path, ...(isCall ? {} : idle), ...gone })),
      voice: { heard, concealed, late: 0, delay_ms: 61, target_ms: 40, twice: this.#twice },
      video: { ...this.video, left_out: 0, kbps: 745, fps: 25, av_offset_ms: -4 },
      carries_kbps: (encode.video_bps + encode.voice_bps) / 700,
      theirs: {
        voice_frames: heard,
        concealed: 0,
        late: 0,
        pictures: 1488,
        pictures_lost: 0,
        delay_ms: 58,
      },
      quality:
        state === 'no_path'
          ? { is: 'bad', text: 'Nothing comes.' }
          : { is: 'good', text: 'Sound and picture are whole.' },
    };
  }

  #set(id: number, use: CallPath['use']): void {
    const closed = { state: 'closed', rtt_ms: null, carries: [], sends_kbps: 0, receives_kbps: 0 };
    this.paths = this.paths.map((path) => {
      if (path.id !== id) {
        return path;
      }
      return { ...path, use, ...(use === 'never' ? closed : { state: 'active' }) } as CallPath;
    });
  }
}
