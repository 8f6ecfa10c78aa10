import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'mock/**/*.test.ts', 'e2e/**/*.test.ts'],
    environment: 'node',
  },
});
