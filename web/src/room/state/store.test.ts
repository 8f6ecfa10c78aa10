import { beforeEach, describe, expect, it } from 'vitest';
import { decodeRoomMessage, type RoomMessage } from '../protocol/control';
import { RoomStore } from './store';

const MEDIA = {
  voice: { codec: 'opus', sample_rate: 48_000, channels: 1 },
  video: null,
  microphone: 'on',
  camera: 'none',
};

function member(number: number, name: string) {
  return { number, name, role: 'attendee', media: MEDIA, away: false };
}

function message(fields: object): RoomMessage {
  const decoded = decodeRoomMessage(JSON.stringify(fields));
  if (decoded === null) {
    throw new Error(`no message of this version: ${JSON.stringify(fields)}`);
  }
  return decoded;
}

describe('the store of a room', () => {
  let store: RoomStore;
  const tell = (fields: object) => store.onMessage(message(fields), 10_000);

  beforeEach(() => {
    store = new RoomStore();
    tell({
      type: 'welcome',
      protocol: 1,
      program: 'a test',
      room: { name: 'lab', title: 'The lab' },
      you: 2,
      role: 'host',
      locked: false,
      resume: '00',
      now_us: 4_000_000,
      members: [member(1, 'Alice')],
      texts: [{ name: 'Alice', member: 1, at_us: 3_000_000, text: 'Hi' }],
      files: [],
      listeners: { is: 'room', text: 'Who runs it.' },
    });
  });

  it('knows after the welcome who is there and what was written, by our clock', () => {
    expect(store.stage.value).toEqual({ is: 'in' });
    expect([store.title.value, store.people.value]).toEqual(['The lab', 2]);
    expect(store.texts.value.map(({ text }) => text)).toEqual(['Hi']);
    expect(store.localMs(3_000_000)).toBe(9_000);
  });

  it('follows who comes, goes, and is away', () => {
    tell({ type: 'joined', member: member(3, 'Bob') });
    expect(store.members.value.map(({ name }) => name)).toEqual(['Alice', 'Bob']);
    tell({ type: 'away', member: 1 });
    expect(store.members.value.find(({ number }) => number === 1)?.away).toBe(true);
    tell({ type: 'back', member: 1 });
    expect(store.members.value.every(({ away }) => !away)).toBe(true);
    tell({ type: 'left', member: 3, text: 'Bob left.' });
    expect(store.people.value).toBe(2);
    expect(store.notices.value.map(({ text }) => text)).toEqual(['Bob is here.', 'Bob left.']);
    tell({ type: 'media', member: 1, media: { ...MEDIA, microphone: 'muted' }, voice_frames: 3 });
    expect(store.members.value[0]?.media.microphone).toBe('muted');
  });

  it('says who could listen, whenever that changes', () => {
    expect(store.listeners.value).toBe('Who runs it.');
    tell({ type: 'listeners', is: 'nobody', text: 'Nobody.' });
    expect(store.listeners.value).toBe('Nobody.');
  });

  it('counts what others wrote as unread, and not what we did', () => {
    tell({ type: 'text', name: 'Alice', member: 1, at_us: 5_000_000, text: 'Well?' });
    tell({ type: 'text', name: 'Bob', member: 2, at_us: 5_000_001, text: 'Well.' });
    expect(store.texts.value.length).toBe(3);
    expect(store.unread.value).toBe(1);
  });

  it('lists files until they are withdrawn, or who has them left', () => {
    const entry = (file: number, member: number) => {
      const [name, sha256] = [`${file}.txt`, 'ab'];
      return { type: 'file', file, member, name, size: 5, sha256 };
    };
    tell({ type: 'joined', member: member(3, 'Bob') });
    for (const [file, owner] of [
      [1, 1],
      [2, 3],
      [3, 1],
      [4, 2],
      [1, 1],
    ] as const) {
      tell(entry(file, owner));
    }
    expect(store.files.value.map(({ file }) => file)).toEqual([1, 2, 3, 4]);
    expect(store.unread.value).toBe(3);
    tell({ type: 'file_gone', file: 1 });
    tell({ type: 'left', member: 3, text: 'Bob left.' });
    expect(store.files.value.map(({ file }) => file)).toEqual([3, 4]);
    tell({ type: 'file_refused', name: 'a.iso', text: 'It is too long.' });
    expect(store.notices.value.at(-1)?.text).toBe('a.iso: It is too long.');
  });

  it('is out after last words, unless coming back may help', () => {
    tell({ type: 'bye', reason: 'protocol', text: 'You said too much at once.' });
    expect(store.stage.value.is).toBe('in');
    tell({ type: 'bye', reason: 'closed', text: 'You left.' });
    expect(store.stage.value).toEqual({ is: 'out', why: 'You left.' });
  });

  it('knows whether the room is locked, and who stands before it', () => {
    expect([store.isHost.value, store.isLocked.value]).toEqual([true, false]);
    tell({ type: 'locked', locked: true, text: 'Bob locked the room.' });
    expect(store.isLocked.value).toBe(true);
    tell({ type: 'knocked', name: 'Eve' });
    expect(store.notices.value.map(({ text }) => text)).toEqual([
      'Bob locked the room.',
      'Eve wants to come in, and the room is locked.',
    ]);
  });

  it.each([
    ['locked', 'This room is locked.'],
    ['removed', 'Bob removed you from the room.'],
  ])('is out when it is %s', (reason, text) => {
    tell({ type: 'bye', reason, text });
    expect(store.stage.value).toEqual({ is: 'out', why: text });
  });

  it('makes large whom one chose, or else who spoke last', () => {
    tell({ type: 'joined', member: member(3, 'Bob') });
    expect(store.large.value).toBeNull();
    store.toggleView();
    expect(store.large.value).toBe(1);
    store.setLevel(3, 0.8);
    expect(store.large.value).toBe(3);
    // Who falls in does not take the place of who speaks.
    store.setLevel(1, 0.9);
    expect(store.large.value).toBe(3);
    store.setLevel(3, 0.1);
    store.setLevel(1, 0.9);
    expect(store.large.value).toBe(1);
    store.pin(3);
    expect(store.large.value).toBe(3);
    tell({ type: 'left', member: 3, text: 'Bob left.' });
    expect(store.large.value).toBe(1);
    store.toggleView();
    expect(store.large.value).toBeNull();
  });
});
