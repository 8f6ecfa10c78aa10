/** The channel in the page's address: `/?channel=3`, and `/embed/3` for the bare player. */

const PARAMETER = 'channel';

/** What is watched for less is passed over by "back": one who zaps does not want to see it all. */
const PASSED_OVER_MS = 1_500;

/** The channel in `/embed/N`; null for the whole page. */
export function embeddedIn(pathname: string): number | null {
  const found = /\/embed\/(\d+)\/?$/.exec(pathname);
  return found === null ? null : Number(found[1]);
}

/** The channel that the address asks for. */
export function channelIn(search: string): number | null {
  const text = new URLSearchParams(search).get(PARAMETER);
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** The same address with this channel. */
export function withChannel(href: string, number: number): string {
  const url = new URL(href);
  url.searchParams.set(PARAMETER, String(number));
  return url.href;
}

/** Keeps the browser's address and history in step with what is watched. */
export class Address {
  #changedMs: number | null = null;

  /** Which channel "back" and "forward" lead to. */
  listen(onChannel: (number: number) => void): void {
    window.addEventListener('popstate', () => {
      const number = channelIn(location.search);
      this.#changedMs = null;
      if (number !== null) {
        onChannel(number);
      }
    });
  }

  /** The viewer chose this channel: the one before is a step back in the history. */
  choose(number: number, nowMs: number): void {
    const isPassing = this.#changedMs !== null && nowMs - this.#changedMs < PASSED_OVER_MS;
    this.#changedMs = nowMs;
    if (isPassing) {
      this.show(number);
    } else if (number !== channelIn(location.search)) {
      history.pushState(null, '', withChannel(location.href, number));
    }
  }

  /** This channel is watched, and nobody chose it. */
  show(number: number): void {
    history.replaceState(null, '', withChannel(location.href, number));
  }
}
