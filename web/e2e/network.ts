import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';

/** Whether this machine has an address that Chromium uses. */
export function reachable(): boolean {
  const addresses = Object.values(networkInterfaces()).flat();
  return addresses.some((address) => address?.family === 'IPv4' && !address.internal);
}

/** A UDP port that nobody has now. */
export function freePort(): Promise<number> {
  return new Promise((done) => {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1', () => {
      const { port } = socket.address();
      socket.close(() => done(port));
    });
  });
}
