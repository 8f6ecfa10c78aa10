/** Words of others in sentences of ours. */

/** Words that go on in a sentence of ours. */
export function unstopped(text: string): string {
  return text.replace(/\.$/, '');
}

/** Words of the server, as a whole sentence. */
export function sentence(text: string): string {
  const words = unstopped(text.trim());
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
