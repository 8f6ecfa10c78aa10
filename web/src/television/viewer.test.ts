import { describe, expect, it } from 'vitest';
import { Liveness } from '../rtc/liveness';
import { Keys } from './keys';
import { Viewer, type ViewerUser } from './viewer';

describe('the viewer', () => {
  it('says hello, and takes the next slot at each change of the channel', () => {
    const { viewer, said } = open();
    viewer.hello('test', null, 300);
    for (let count = 0; count < 9; count++) {
      viewer.tune(3);
    }
    expect(said[0]).toEqual([
      0,
      { type: 'hello', protocol: 2, program: 'test', token: null, latency_ms: 300 },
    ]);
    expect(said.slice(1).map(([stream]) => stream)).toEqual([6, 10, 14, 18, 22, 26, 30, 2, 6]);
  });

  it('hands out media of the slot and channel that are watched, and no other', () => {
    const { viewer, heard } = open();
    viewer.tune(3);
    viewer.receive(6, description(3));
    viewer.receive(7, media(3));
    expect(heard).toEqual(['onDescription', 'onUnit']);
    viewer.receive(3, media(3));
    viewer.receive(7, media(4));
    viewer.tune(4);
    viewer.receive(6, description(3));
    viewer.receive(7, media(3));
    expect(heard).toHaveLength(2);
  });

  it('hands out nothing where no channel is watched', () => {
    const { viewer, heard } = open();
    viewer.tune(3);
    viewer.stop();
    viewer.receive(6, description(3));
    viewer.receive(7, media(3));
    expect(heard).not.toContain('onUnit');
  });

  it('keeps media that overtakes its description', () => {
    const { viewer, heard } = open();
    viewer.tune(3);
    viewer.receive(7, media(3));
    viewer.receive(6, description(3));
    expect(heard).toEqual(['onDescription', 'onUnit']);
  });

  it('understands all that the server says, and complains once of what it does not', () => {
    const { viewer, heard } = open();
    const programme = { now: 'News', next: null };
    viewer.receive(0, text({ type: 'channels', channels: [] }));
    viewer.receive(0, text({ type: 'guidance', text: 'x' }));
    viewer.receive(0, text({ type: 'error', text: 'x' }));
    viewer.receive(0, text({ type: 'bye', text: 'x' }));
    viewer.receive(1, text({ type: 'urgent', id: 7, level: 'alarm', text: 'x' }));
    viewer.receive(1, text({ type: 'over', id: 7 }));
    viewer.receive(2, text({ type: 'off_air', channel: 3, text: 'x' }));
    viewer.receive(2, text({ type: 'programme', channel: 3, programme }));
    viewer.receive(0, text({ type: 'of a later version' }));
    viewer.receive(0, '{');
    viewer.receive(3, new ArrayBuffer(3));
    expect(heard).toEqual([
      ...['onChannels', 'onWords', 'onWords', 'onBye', 'onUrgent', 'onOver'],
      ...['onOffAir', 'onProgramme', 'onBroken'],
    ]);
  });

  it('does not go on with a server of another version', () => {
    const { viewer, heard } = open();
    const welcome = { type: 'welcome', program: 'x', latency_ms: 300, now_us: 1, channels: [] };
    viewer.receive(0, text({ ...welcome, protocol: 2 }));
    viewer.receive(0, text({ ...welcome, protocol: 3 }));
    expect(heard).toEqual(['onWelcome', 'onBye']);
  });

  it('acknowledges, reports, and stops on the streams meant for it', () => {
    const { viewer, said } = open();
    viewer.seen(7);
    viewer.setLatency(500);
    viewer.report({ shown: 250, late: 0, lost: 1, zap_ms: 93 });
    viewer.stop();
    expect(said).toEqual([
      [1, { type: 'seen', id: 7 }],
      [0, { type: 'latency', latency_ms: 500 }],
      [0, { type: 'report', shown: 250, late: 0, lost: 1, zap_ms: 93 }],
      [2, { type: 'stop' }],
    ]);
  });
});

describe('the keys', () => {
  it('change the channel at once where no longer number begins so', () => {
    const { keys, done } = remote([1, 2, 12]);
    keys.press('2', 100);
    expect(done).toEqual(['', 'number 2 at 100']);
  });

  it('wait for another digit where one may follow', () => {
    const { keys, done, pass } = remote([1, 2, 12]);
    keys.press('1', 100);
    keys.press('2', 300);
    expect(done).toEqual(['1', '', 'number 12 at 300']);
    keys.press('1', 1_000);
    pass();
    expect(done.slice(3)).toEqual(['1', '', 'number 1 at 2200']);
    keys.press('1', 3_000);
    keys.press('Enter', 3_100);
    expect(done.slice(6)).toEqual(['1', '', 'number 1 at 3100']);
  });

  it('know what they do, and leave the others alone', () => {
    const { keys, done } = remote([1]);
    const known = [
      'ArrowUp',
      'ArrowDown',
      'PageUp',
      'PageDown',
      'Backspace',
      'ArrowLeft',
      'm',
      'I',
    ];
    expect(known.map((key) => keys.press(key, 5))).toEqual(known.map(() => true));
    expect(done).toEqual([
      ...['step -1', 'step 1', 'step 1', 'step -1', 'back', 'volume -0.05', 'sound', 'figures'],
    ]);
    expect(keys.press('constructor', 5)).toBe(false);
  });
});

describe('a connection', () => {
  it('is alive while anything comes, and dead after five seconds of nothing', () => {
    const liveness = new Liveness();
    expect(liveness.isAlive(0, 1_000)).toBe(true);
    expect(liveness.isAlive(0, 5_000)).toBe(true);
    expect(liveness.isAlive(1, 6_500)).toBe(true);
    expect(liveness.isAlive(1, 11_000)).toBe(true);
    expect(liveness.isAlive(1, 11_500)).toBe(false);
  });
});

function open() {
  const said: [number, unknown][] = [];
  const heard: string[] = [];
  const user = new Proxy({} as ViewerUser, {
    get: (_, name: string) =>
      name === 'say'
        ? (stream: number, json: string) => said.push([stream, JSON.parse(json)])
        : () => heard.push(name),
  });
  return { viewer: new Viewer(user), said, heard };
}

function text(message: object): string {
  return JSON.stringify(message);
}

function description(channel: number): string {
  const format = { video: null, audio: null, bits_per_second: 0 };
  return text({ type: 'description', channel, session: channel, ...format });
}

/** A key picture of one part. */
function media(channel: number): ArrayBuffer {
  const fixed = [0x21, 0x80 | 1, 0, channel, 0, 0, 0, 1];
  const numbers = [0, 0, 0, 1, 0, 0, 0, 1];
  return new Uint8Array([...fixed, ...numbers, 7]).buffer;
}

function remote(numbers: readonly number[]) {
  const done: string[] = [];
  let waiting: (() => void) | null = null;
  const keys = new Keys(
    {
      numbers: () => numbers,
      onTyping: (digits) => done.push(digits),
      onNumber: (number, atMs) => done.push(`number ${number} at ${atMs}`),
      onStep: (by) => done.push(`step ${by}`),
      onBack: () => done.push('back'),
      onVolume: (by) => done.push(`volume ${by}`),
      onSound: () => done.push('sound'),
      onFigures: () => done.push('figures'),
      onFullScreen: () => done.push('full screen'),
      onSearch: () => done.push('search'),
      onHelp: () => done.push('help'),
    },
    {
      set: (then) => {
        waiting = then;
        return 1;
      },
      clear: () => {
        waiting = null;
      },
    },
  );
  return { keys, done, pass: () => waiting?.() };
}
