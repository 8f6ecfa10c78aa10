import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** What several pages show, with all that it needs. */
const OF_SEVERAL =
  /\/src\/(channels\/|audio\/speaker\.|ui\/(full-screen|help-dialog|measures|notices)\.)/;
const PAGES = {
  page: 'index.html',
  tv: 'tv.html',
  operator: 'operator.html',
  call: 'call.html',
  room: 'room.html',
  member: 'member.html',
};

// Every file name is fixed, so that a rebuild changes contents only and the program can embed them.
const names = {
  entryFileNames: 'assets/[name].js',
  chunkFileNames: 'assets/[name].js',
  assetFileNames: 'assets/[name][extname]',
};

const input = Object.fromEntries(
  Object.entries(PAGES).map(([name, file]) => [
    name,
    fileURLToPath(new URL(file, import.meta.url)),
  ]),
);

export default defineConfig({
  // The demo's page is served below a random token, which no build can know.
  base: './',
  experimental: {
    // The television's is served as `/` and as `/embed/N`: only names from the root serve both.
    renderBuiltUrl: (file, { hostId }) =>
      /(tv|operator|room)\.html$/.test(hostId) ? `/${file}` : { relative: true },
  },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: 'es2022',
    outDir: 'dist',
    // A `data:` worker or worklet would need a wider content security policy.
    assetsInlineLimit: 0,
    // What is shared is fetched beside what needs it, not after it.
    modulePreload: { polyfill: false },
    rollupOptions: {
      input,
      // Each file costs a request before the first picture: what is small goes with what all share.
      output: {
        ...names,
        chunkFileNames: 'assets/shared.js',
        experimentalMinChunkSize: 10_000,
        manualChunks: (id) => (OF_SEVERAL.test(id) ? 'shared' : undefined),
      },
    },
  },
  worker: { format: 'es', rollupOptions: { output: names } },
});
