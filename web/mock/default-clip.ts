import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../assets/clip/', import.meta.url));

/** The demo clip that the repository holds. */
export function defaultClip(): string {
  const name = readdirSync(FOLDER).find((file) => file.endsWith('.anaclip'));
  if (name === undefined) {
    throw new Error(`there is no clip in ${FOLDER}`);
  }
  return FOLDER + name;
}
