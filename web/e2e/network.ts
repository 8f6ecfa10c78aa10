import { networkInterfaces } from 'node:os';

/** Whether this machine has an address that Chromium uses. */
export function reachable(): boolean {
  const addresses = Object.values(networkInterfaces()).flat();
  return addresses.some((address) => address?.family === 'IPv4' && !address.internal);
}
