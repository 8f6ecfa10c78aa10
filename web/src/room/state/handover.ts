/** Goes over to another network when nothing is heard of the room, or the browser has one. */

/** Between two tries: the checks of one need round trips. */
const EVERY_MS = 700;
/** Where the room could not be told. */
const AGAIN_MS = 250;

export class Handover {
  /** Tells the room that we are somewhere else; whether it knows. */
  readonly #restart: () => Promise<boolean>;
  #isHeard = true;
  #isTrying = false;

  constructor(restart: () => Promise<boolean>) {
    this.#restart = restart;
  }

  set isHeard(isHeard: boolean) {
    this.#isHeard = isHeard;
    if (!isHeard) {
      void this.#try();
    }
  }

  /** The browser's networks are others than before. */
  networkChanged(): void {
    void this.#try();
  }

  async #try(): Promise<void> {
    if (this.#isTrying) {
      return;
    }
    this.#isTrying = true;
    do {
      const isTold = await this.#restart();
      await new Promise((done) => setTimeout(done, isTold ? EVERY_MS : AGAIN_MS));
    } while (!this.#isHeard);
    this.#isTrying = false;
  }
}
