import { defineConfig } from 'vite';

// Every file name is fixed, so that a rebuild changes contents only and the program can embed them.
const names = {
  entryFileNames: 'assets/[name].js',
  chunkFileNames: 'assets/[name].js',
  assetFileNames: 'assets/[name][extname]',
};

export default defineConfig({
  // The page is served below a random token, which no build can know.
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: 'es2022',
    outDir: 'dist',
    // A `data:` worker or worklet would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: false,
    rollupOptions: {
      output: {
        ...names,
        entryFileNames: 'assets/page.js',
        assetFileNames: 'assets/page[extname]',
      },
    },
  },
  worker: { format: 'es', rollupOptions: { output: names } },
});
