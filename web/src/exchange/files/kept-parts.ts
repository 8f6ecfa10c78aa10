/** Parts of files that are not whole yet, so that a page that is opened anew goes on there. */

/** The parts of files that are here, by what the files are. */
export interface PartStore {
  /** Files that were begun and are not whole, and what is here of each, in order. */
  begun(): Promise<ReadonlyMap<string, readonly Blob[]>>;
  begin(sha256: string): void;
  keep(sha256: string, part: number, blob: Blob): void;
  /** It is whole, or not wanted any more. */
  forget(sha256: string): void;
}

const DATABASE = 'anabranch.room.files';
const FILES = 'files';
const PARTS = 'parts';
/** A tab that was closed does not come back later. */
const KEPT_MS = 24 * 3_600_000;

/** Of one tab, in the browser's database; where it has none, nothing is kept. */
export class KeptParts implements PartStore {
  readonly #tab: string;
  readonly #database: Promise<IDBDatabase | null>;

  constructor(tab: string) {
    this.#tab = tab;
    this.#database = open().catch(() => null);
    void this.#forgetOld();
  }

  async begun(): Promise<ReadonlyMap<string, readonly Blob[]>> {
    const found = new Map<string, readonly Blob[]>();
    for (const [tab, sha256] of await this.#files()) {
      if (tab === this.#tab) {
        const all = this.#all(sha256);
        found.set(sha256, await this.#read<Blob>(PARTS, (parts) => parts.getAll(all)));
      }
    }
    return found;
  }

  begin(sha256: string): void {
    void this.#write(FILES, (files) => files.put(Date.now(), [this.#tab, sha256]));
  }

  keep(sha256: string, part: number, blob: Blob): void {
    void this.#write(PARTS, (parts) => parts.put(blob, [this.#tab, sha256, part]));
  }

  forget(sha256: string): void {
    this.#remove(this.#tab, sha256);
  }

  #remove(tab: string, sha256: string): void {
    void this.#write(FILES, (files) => files.delete([tab, sha256]));
    void this.#write(PARTS, (parts) => parts.delete(this.#all(sha256, tab)));
  }

  async #forgetOld(): Promise<void> {
    const since = await this.#read<number>(FILES, (files) => files.getAll());
    for (const [nth, [tab, sha256]] of (await this.#files()).entries()) {
      if (Date.now() - (since[nth] ?? 0) > KEPT_MS) {
        this.#remove(tab, sha256);
      }
    }
  }

  #all(sha256: string, tab = this.#tab): IDBKeyRange {
    return IDBKeyRange.bound([tab, sha256, 0], [tab, sha256, Number.MAX_SAFE_INTEGER]);
  }

  #files(): Promise<[tab: string, sha256: string][]> {
    const keys = (files: IDBObjectStore) =>
      files.getAllKeys() as IDBRequest<unknown[]> as IDBRequest<[string, string][]>;
    return this.#read(FILES, keys);
  }

  async #read<T>(store: string, ask: (of: IDBObjectStore) => IDBRequest<T[]>): Promise<T[]> {
    const database = await this.#database;
    if (database === null) {
      return [];
    }
    try {
      return await done(ask(database.transaction(store).objectStore(store)));
    } catch {
      return [];
    }
  }

  async #write(store: string, ask: (of: IDBObjectStore) => IDBRequest): Promise<void> {
    const database = await this.#database;
    try {
      if (database !== null) {
        await done(ask(database.transaction(store, 'readwrite').objectStore(store)));
      }
    } catch {
      // The disk is full, say: the file comes all the same, and anew after the page was reloaded.
    }
  }
}

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore(FILES);
    request.result.createObjectStore(PARTS);
  };
  return done(request);
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
