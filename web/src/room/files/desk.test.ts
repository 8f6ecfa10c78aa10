import { beforeEach, describe, expect, it } from 'vitest';
import type { FileEntry, MemberMessage } from '../protocol/control';
import { decodeFileMessage, encodeBlock, FILES_STREAM } from './blocks';
import { FileDesk } from './desk';

const BYTES = Uint8Array.from({ length: 50_000 }, (_, at) => (at * 31) % 251);
/** As a file is: not all versions of Node have those. */
const FILE = Object.assign(new Blob([BYTES]), { name: 'film.mp4' }) as File;

/** A member of a room that is nothing but a list of files. */
class Member {
  readonly said: MemberMessage[] = [];
  readonly saved: { readonly name: string; readonly blob: Blob }[] = [];
  readonly problems: string[] = [];
  readonly number: number;
  readonly desk: FileDesk;
  sent: Uint8Array<ArrayBuffer>[] = [];
  queued = 0;

  constructor(number: number) {
    this.number = number;
    this.desk = new FileDesk({
      say: (message) => this.said.push(message),
      send: (message) => this.sent.push(message),
      queuedBytes: () => this.queued,
      onWhole: (name, blob) => this.saved.push({ name, blob }),
      onProblem: (text) => this.problems.push(text),
    });
  }
}

class Room {
  readonly members: Member[] = [];
  files: FileEntry[] = [];
  nowMs = 0;
  /** Whether owners are heard. */
  carries = true;
  #last = 0;

  enter(): Member {
    const member = new Member(this.members.length + 1);
    this.members.push(member);
    member.desk.onWelcome(member.number, this.files, this.nowMs);
    return member;
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
        this.#all((desk) => desk.onFile(entry));
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
