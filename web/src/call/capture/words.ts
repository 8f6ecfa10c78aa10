/** Why there is no camera or microphone, and what to do about it, in words. */

export type Kind = 'microphone' | 'camera';

/** Of an error of `getUserMedia`, by its name (Media Capture and Streams, section 10). */
export function deviceWords(kind: Kind, error: string): string {
  switch (error) {
    case 'NotAllowedError':
    case 'SecurityError':
      return (
        `The ${kind} may not be used. Allow it for this page, ` +
        "by the sign beside the browser's address, and reload the page."
      );
    case 'NotFoundError':
    case 'OverconstrainedError':
      return `No ${kind} was found. Plug one in, and it is used.`;
    case 'NotReadableError':
    case 'AbortError':
      return (
        `The ${kind} gives nothing; another program may have it. ` +
        'Close that one, then choose the device again.'
      );
    case 'Unplugged':
      return `The ${kind} was unplugged. Plug it in again or choose another one.`;
    case 'Insecure':
      return (
        `The browser gives no ${kind} to a page that came in the open. ` +
        'Open it by https, or on the machine on which its program runs.'
      );
    default:
      return `The ${kind} could not be opened (${error}). Choose another one or reload the page.`;
  }
}
