/** What the browser tells of this machine's networks. */

/** The Network Information API, where the browser has it. */
export interface NetworkInformation extends EventTarget {
  /** `wifi`, `cellular` …; not on every machine. */
  readonly type?: string;
  /** `4g`, `3g` …: what the browser takes the network for. */
  readonly effectiveType?: string;
}

/** Says when the networks are others than before, and whether there is one at all. */
export function watchNetworks(
  page: EventTarget,
  connection: NetworkInformation | undefined,
  onChanged: (isOnline: boolean) => void,
): void {
  page.addEventListener('online', () => onChanged(true));
  page.addEventListener('offline', () => onChanged(false));
  let kind = kindOf(connection);
  connection?.addEventListener('change', () => {
    const before = kind;
    kind = kindOf(connection);
    // It is also told of each new guess at how fast the same network is.
    if (kind !== before && connection.type !== 'none') {
      onChanged(true);
    }
  });
}

/** That of this browser. */
export function networkInformation(): NetworkInformation | undefined {
  return (navigator as { readonly connection?: NetworkInformation }).connection;
}

function kindOf(connection: NetworkInformation | undefined): string | undefined {
  return connection?.type ?? connection?.effectiveType;
}
