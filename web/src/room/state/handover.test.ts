import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Handover } from './handover';

describe('going over to another network', () => {
  let tries: number;
  let isTold: boolean;
  let handover: Handover;

  beforeEach(() => {
    vi.useFakeTimers();
    [tries, isTold] = [0, true];
    handover = new Handover(async () => {
      tries += 1;
      return isTold;
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is tried at once when nothing is heard, and until something is', async () => {
    handover.isHeard = false;
    expect(tries).toBe(1);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(tries).toBe(3);
    handover.isHeard = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(tries).toBe(3);
    handover.isHeard = false;
    expect(tries).toBe(4);
  });

  it('is tried more often while the room cannot be told', async () => {
    isTold = false;
    handover.isHeard = false;
    await vi.advanceTimersByTimeAsync(1_100);
    expect(tries).toBe(5);
  });

  it('is tried once when the networks changed, and never twice at a time', async () => {
    handover.networkChanged(true);
    handover.networkChanged(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(tries).toBe(1);
  });

  it('is seldom tried while there is no network, and at once when there is one', async () => {
    isTold = false;
    handover.networkChanged(false);
    expect(tries).toBe(0);
    handover.isHeard = false;
    await vi.advanceTimersByTimeAsync(5_900);
    expect(tries).toBe(3);
    handover.networkChanged(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(tries).toBe(4);
    isTold = true;
    await vi.advanceTimersByTimeAsync(250);
    expect(tries).toBe(5);
  });
});
