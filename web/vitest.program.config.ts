import { defineConfig } from 'vitest/config';

// What needs the program: `cargo build` first.
export default defineConfig({
  test: {
    include: ['e2e/**/*.program.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
