/** Serves the built pages below a token, with the headers of docs/page-protocol.md. */

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const TOKEN = 'mock';
const DIST = fileURLToPath(new URL('../dist', import.meta.url));

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** `entry` is what the folder itself shows. */
export async function servePage(
  entry: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = normalize(request.url ?? '/');
  const file = path === `/${TOKEN}/` ? entry : path.slice(TOKEN.length + 2);
  try {
    const contents = path.startsWith(`/${TOKEN}/`) ? await readFile(join(DIST, file)) : null;
    response.writeHead(contents === null ? 404 : 200, {
      ...HEADERS,
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    });
    response.end(contents);
  } catch {
    response.writeHead(404, HEADERS).end();
  }
}
