import { beforeEach, describe, expect, it } from 'vitest';
import type { ExchangeRequest, FileEntry } from '../protocol';
import { decodeFileMessage, encodeBlock, FILES_STREAM } from './blocks';
import { type DeskUser, FileDesk } from './desk';
import type { PartStore } from './kept-parts';

const BYTES = Uint8Array.from({ length: 50_000 }, (_, at) => (at * 31) % 251);
/** As a file is: not all versions of Node have those. */
const FILE = Object.assign(new Blob([BYTES]), { name: 'film.mp4' }) as File;

/** What the browser keeps of a tab. */
class Kept implements PartStore {
  readonly files = new Map<string, Blob[]>();

  begun(): Promise<ReadonlyMap<string, readonly Blob[]>> {
    return Promise.resolve(new Map(this.files));
  }

  begin(sha256: string): void {
    this.files.set(sha256, []);
  }

  keep(sha256: string, part: number, blob: Blob): void {
    const parts = this.files.get(sha256) ?? [];
    expect(parts.length).toBe(part);
    parts.push(blob);
  }

  forget(sha256: string): void {
    this.files.delete(sha256);
  }
}

/** A member of a room that is nothing but a list of files. */
class Member {
  readonly said: ExchangeRequest[] = [];
  readonly saved: { readonly name: string; readonly blob: Blob }[] = [];
  readonly problems: string[] = [];
  readonly number: number;
  readonly desk: FileDesk;
  readonly kept: Kept;
  sent: Uint8Array<ArrayBuffer>[] = [];
  queued = 0;

  constructor(number: number, kept: Kept) {
    [this.number, this.kept] = [number, kept];
    const user: DeskUser = {
      say: (message) => this.said.push(message),
      send: (message) => this.sent.push(message),
      queuedBytes: () => this.queued,
      onWhole: (name, blob) => this.saved.push({ name, blob }),
      onProblem: (text) => this.problems.push(text),
    };
    this.desk = new FileDesk(user, kept);
  }
}

class Room {
  readonly members: Member[] = [];
  files: FileEntry[] = [];
  nowMs = 0;
  /** Whether owners are heard. */
  carries = true;
  #last = 0;
  #people = 0;

  enter(kept = new Kept()): Member {
    this.#people += 1;
    const member = new Member(this.#people, kept);
    this.members.push(member);
    member.desk.onWelcome(member.number, this.files, this.nowMs);
    return member;
  }

  /** Opens the page of a member anew. */
  reopen(member: Member): Member {
    this.members.splice(this.members.indexOf(member), 1);
    return this.enter(member.kept);
  }

  /** Hands on what is said, until nothing is. */
  async run(turns = 200): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      this.nowMs += 20;
      for (const member of this.members) {
        this.#list(member);
        for (const message of member.sent.splice(0)) {
          this.#pass(member, message);
        }
        member.desk.poll(this.nowMs);
      }
      await new Promise((done) => setTimeout(done, 0));
    }
  }

  #list(member: Member): void {
    for (const message of member.said.splice(0)) {
      if (message.type === 'offer_file') {
        this.#last += 1;
        const { name, size, sha256 } = message;
        const entry = { file: this.#last, member: member.number, name, size, sha256 };
        this.files.push(entry);
        this.#all((desk) => desk.onFile(entry, this.nowMs));
      } else if (message.type === 'withdraw_file') {
        this.files = this.files.filter(({ file }) => file !== message.file);
        this.#all((desk) => desk.onGone(message.file));
      }
    }
  }

  #all(act: (desk: FileDesk) => void): void {
    for (const { desk } of this.members) {
      act(desk);
    }
  }

  #pass(from: Member, bytes: Uint8Array<ArrayBuffer>): void {
    const { type, file, index, member, payload } = decodeFileMessage(bytes.buffer);
    const owner = this.files.find((entry) => entry.file === file)?.member;
    const to = this.members.find(({ number }) => number === (type === 'want' ? owner : member));
    if (to !== undefined && this.carries) {
      const message = encodeBlock(file, index, from.number, payload);
      message[0] = type === 'want' ? 1 : 2;
      to.desk.receive(message.buffer, this.nowMs);
    }
  }
}

describe('the files of a room', () => {
  let room: Room;
  let alice: Member;
  let bob: Member;

  beforeEach(async () => {
    room = new Room();
    [alice, bob] = [room.enter(), room.enter()];
    alice.desk.add([FILE]);
    await room.run(20);
  });

  async function saved(): Promise<boolean> {
    const bytes = await bob.saved[0]?.blob.arrayBuffer();
    return bytes !== undefined && Buffer.compare(new Uint8Array(bytes), BYTES) === 0;
  }

  it('offers nothing that is empty or larger than a file may be, and says so', async () => {
    const member = room.enter();
    const huge = Object.assign(new Blob(['x']), { name: 'huge.iso' });
    Object.defineProperty(huge, 'size', { value: 5e9 });
    const empty = Object.assign(new Blob([]), { name: 'empty.txt' });
    member.desk.add([huge, empty] as File[]);
    await room.run(5);
    expect(room.files.map(({ name }) => name)).toEqual(['film.mp4']);
    expect(member.problems).toEqual([
      'huge.iso is too large: a file has 4 GiB at most.',
      'empty.txt is empty: there is nothing to offer.',
    ]);
  });

  it('come from who has them, and are saved again without coming again', async () => {
    expect(FILES_STREAM).toBe(7);
    bob.desk.get(1, room.nowMs);
    await room.run();
    expect(await saved()).toBe(true);
    expect(bob.desk.report.progress[0]).toMatchObject({ bytes: 50_000, state: 'done' });
    room.carries = false;
    bob.desk.get(1, room.nowMs);
    expect(bob.saved.map(({ name }) => name)).toEqual(['film.mp4', 'film.mp4']);
  });

  it('go on from somebody else who has them', async () => {
    const carol = room.enter();
    carol.desk.add([FILE]);
    await room.run(20);
    bob.desk.get(1, room.nowMs);
    await room.run(3);
    const { bytes } = bob.desk.report.progress[0] ?? { bytes: 0 };
    expect(bytes).toBeGreaterThan(0);
    alice.desk.withdraw(1);
    await room.run(300);
    expect(await saved()).toBe(true);
  });

  it('are offered again to a room that does not know them, and go on there', async () => {
    bob.desk.get(1, room.nowMs);
    await room.run(3);
    room.carries = false;
    room.files = [];
    await room.run(3);
    room.carries = true;
    for (const member of room.members) {
      member.desk.onLost();
      member.desk.onWelcome(member.number, room.files, room.nowMs);
    }
    await room.run();
    expect(room.files.map(({ file }) => file)).toEqual([2]);
    expect(await saved()).toBe(true);
  });

  describe('on a page that is opened anew', () => {
    const MANY = Uint8Array.from({ length: 5_000_000 }, (_, at) => (at * 31) % 253);

    beforeEach(async () => {
      const file = Object.assign(new Blob([MANY]), { name: 'long.mp4' }) as File;
      alice.desk.add([file]);
      await room.run(20);
      bob.desk.get(2, room.nowMs);
      while ((bob.desk.report.progress[0]?.bytes ?? 0) < 3_000_000) {
        await room.run(1);
      }
    });

    it('go on where they were', async () => {
      const anew = room.reopen(bob);
      await room.run(1);
      expect(anew.desk.report.progress[0]?.bytes).toBeGreaterThanOrEqual(2_000_000);
      await room.run(400);
      const bytes = new Uint8Array((await anew.saved[0]?.blob.arrayBuffer()) ?? []);
      expect(Buffer.compare(bytes, MANY)).toBe(0);
      expect(anew.kept.files.size).toBe(0);
    });

    it('go on when they are offered once more', async () => {
      alice.desk.withdraw(2);
      await room.run(2);
      const anew = room.reopen(bob);
      await room.run(5);
      expect(anew.desk.report.progress).toEqual([]);
      alice.desk.add([Object.assign(new Blob([MANY]), { name: 'long.mp4' }) as File]);
      await room.run(400);
      expect(anew.saved.length).toBe(1);
    });

    it('are not kept for who left', async () => {
      bob.desk.leave();
      await room.run(1);
      expect(bob.kept.files.size).toBe(0);
      const anew = room.reopen(bob);
      await room.run(5);
      expect(anew.desk.report.progress).toEqual([]);
    });
  });

  it('wait for what was sent before to leave', async () => {
    alice.queued = 1 << 20;
    bob.desk.get(1, room.nowMs);
    await room.run(20);
    expect(bob.desk.report.progress[0]?.bytes).toBe(0);
    alice.queued = 0;
    await room.run(300);
    expect(await saved()).toBe(true);
  });

  it('come no more when one does not want them', async () => {
    bob.desk.get(1, room.nowMs);
    await room.run(2);
    bob.desk.stop(room.files[0]?.sha256 ?? '');
    await room.run();
    expect([bob.saved, bob.desk.report.progress]).toEqual([[], []]);
  });
});
