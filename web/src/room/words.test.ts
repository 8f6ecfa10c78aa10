import { describe, expect, it } from 'vitest';
import { noPicture, peopleWords, roomStatus } from './words';

const IN = { is: 'in' } as const;
const REACHED = { isHeard: true, isOnline: true };

describe('the words of a room', () => {
  it('say how far the visit is', () => {
    const status = (stage: Parameters<typeof roomStatus>[0], state: 'open' | 'connecting') =>
      roomStatus(stage, { state }, REACHED, 0);
    expect(status({ is: 'lobby' }, 'connecting').long).toBeNull();
    expect(status({ is: 'entering' }, 'connecting').long).toBe('Entering …');
    expect(status(IN, 'open')).toEqual({ short: 'In the room', long: null, severity: 'good' });
    const silent = { ...REACHED, isHeard: false };
    expect(roomStatus(IN, { state: 'open' }, silent, 0).short).toBe('Nothing heard');
    expect(status(IN, 'connecting').long).toBe('Going over to another connection …');
    expect(status({ is: 'out', why: 'You left.' }, 'open').long).toBe('You left.');
  });

  it('say that there is no network only where nothing is heard', () => {
    const status = (isHeard: boolean) =>
      roomStatus(IN, { state: 'open' }, { isHeard, isOnline: false }, 0);
    expect(status(false).short).toBe('No network');
    expect(status(false).long).toContain('This machine has no network.');
    expect(status(true).short).toBe('In the room');
  });

  it('say when the next try is', () => {
    const waiting = { state: 'waiting', untilMs: 1_500, why: 'The network is gone.' } as const;
    const long = (nowMs: number) => roomStatus(IN, waiting, REACHED, nowMs).long;
    expect(long(0)).toBe('The network is gone. Trying again in 2 s.');
    expect(long(1_500)).toBe('The network is gone. Trying again …');
  });

  it('say why somebody is not seen, and how many are there', () => {
    expect(noPicture('muted', false)).toBe('Camera off');
    expect(noPicture('none', false)).toBe('No camera');
    expect(noPicture('on', false)).toBe('Picture follows');
    expect(noPicture('on', true)).toBe('Connection lost, may come back');
    expect([1, 2].map(peopleWords)).toEqual(['You are alone here.', '2 people']);
  });
});
