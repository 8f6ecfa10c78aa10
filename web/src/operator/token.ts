/** The operator's token: from the address that the program printed, kept for this tab only. */

const STORED_AS = 'anabranch-operator-token';

/** The token, which is taken out of the address bar; empty if there is none. */
export function takeToken(): string {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given === '') {
    return stored();
  }
  history.replaceState(null, '', location.pathname);
  keepToken(given);
  return given;
}

/** An empty one is forgotten. */
export function keepToken(token: string): void {
  try {
    if (token === '') {
      sessionStorage.removeItem(STORED_AS);
    } else {
      sessionStorage.setItem(STORED_AS, token);
    }
  } catch {
    // A browser that stores nothing asks again after a reload.
  }
}

function stored(): string {
  try {
    return sessionStorage.getItem(STORED_AS) ?? '';
  } catch {
    return '';
  }
}
