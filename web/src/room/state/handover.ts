/** Goes over to another network when nothing is heard of the room, or the browser has one. */

/** Between two tries: the checks of one need round trips. */
const EVERY_MS = 700;
/** Where the room could not be told. */
const AGAIN_MS = 250;
/** Where the browser says that there is no network: it may be wrong, and the next one is told. */
const OFFLINE_MS = 2_000;

export class Handover {
  /** Tells the room that we are somewhere else; whether it knows. */
  readonly #restart: () => Promise<boolean>;
  #isHeard = true;
  #isOnline = true;
  #isTrying = false;
  #wake: () => void = () => undefined;

  constructor(restart: () => Promise<boolean>) {
    this.#restart = restart;
  }

  set isHeard(isHeard: boolean) {
    this.#isHeard = isHeard;
    if (!isHeard) {
      void this.#try();
    }
  }

  /** The browser's networks are others than before; whether there is one. */
  networkChanged(isOnline: boolean): void {
    const isBack = isOnline && !this.#isOnline;
    this.#isOnline = isOnline;
    if (isBack) {
      this.#wake();
    }
    if (isOnline) {
      void this.#try();
    }
  }

  async #try(): Promise<void> {
    if (this.#isTrying) {
      return;
    }
    this.#isTrying = true;
    do {
      await this.#pause(await this.#restart());
    } while (!this.#isHeard);
    this.#isTrying = false;
  }

  async #pause(isTold: boolean): Promise<void> {
    const ms = isTold ? EVERY_MS : AGAIN_MS;
    await new Promise<void>((done) => {
      this.#wake = done;
      setTimeout(done, this.#isOnline ? ms : OFFLINE_MS);
    });
  }
}
