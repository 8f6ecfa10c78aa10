import { beforeEach, describe, expect, it } from 'vitest';
import type { DeskUser } from '../../exchange/files/desk';
import type { PartStore } from '../../exchange/files/kept-parts';
import type { ExchangeRequest } from '../../exchange/protocol';
import { CallFiles } from './call-files';

const NOTHING = { you: 1, takes: { text: true, files: true }, texts: [], files: [] };
const NOTHING_KEPT: PartStore = {
  begun: async () => new Map(),
  begin: () => undefined,
  keep: () => undefined,
  forget: () => undefined,
};
const FILE = Object.assign(new Blob(['some bytes']), { name: 'notes.txt' }) as File;

describe('the files of a call', () => {
  let said: ExchangeRequest[];
  let files: CallFiles;

  beforeEach(async () => {
    said = [];
    const user: DeskUser = {
      say: (message) => said.push(message),
      send: () => undefined,
      queuedBytes: () => 0,
      onWhole: () => undefined,
      onProblem: () => undefined,
    };
    files = new CallFiles(user, () => NOTHING_KEPT);
    files.onExchange(NOTHING, 'Bob');
    files.desk.add([FILE]);
    while (said.length === 0) {
      await new Promise((done) => setTimeout(done, 1));
    }
    said = [];
  });

  it('are offered again to who was lost and calls again', () => {
    files.onOver('lost');
    files.onExchange(NOTHING, 'Bob');
    expect(said).toMatchObject([{ type: 'offer_file', name: 'notes.txt' }]);
  });

  it('are offered to nobody else', () => {
    files.onOver('lost');
    files.onExchange(NOTHING, 'Eve');
    expect(said).toEqual([]);
  });

  it('are offered to nobody whose key is not known', () => {
    files.onOver('lost');
    files.onExchange(NOTHING, null);
    expect(said).toEqual([]);
  });

  it('are no longer offered to who hung up', () => {
    files.onOver('peer_hung_up');
    files.onExchange(NOTHING, 'Bob');
    expect(said).toEqual([]);
  });
});
