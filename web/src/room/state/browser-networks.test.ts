import { beforeEach, describe, expect, it } from 'vitest';
import { watchNetworks } from './browser-networks';

/** A stand-in for `navigator.connection`. */
class Information extends EventTarget {
  type: string | undefined;
  effectiveType: string | undefined;
  downlink = 10;

  become(change: Partial<Pick<Information, 'type' | 'effectiveType' | 'downlink'>>): void {
    Object.assign(this, change);
    this.dispatchEvent(new Event('change'));
  }
}

describe('what the browser tells of its networks', () => {
  let told: boolean[];
  let page: EventTarget;
  let information: Information;

  beforeEach(() => {
    [told, page, information] = [[], new EventTarget(), new Information()];
  });

  function watch(connection: Information | undefined): void {
    watchNetworks(page, connection as Parameters<typeof watchNetworks>[1], (isOnline) =>
      told.push(isOnline),
    );
  }

  it('is told when the last one goes and the first one comes', () => {
    watch(undefined);
    page.dispatchEvent(new Event('offline'));
    page.dispatchEvent(new Event('online'));
    expect(told).toEqual([false, true]);
  });

  it('is told when it is of another type', () => {
    information.type = 'wifi';
    watch(information);
    information.become({ type: 'cellular' });
    expect(told).toEqual([true]);
    information.become({ type: 'wifi' });
    expect(told).toEqual([true, true]);
  });

  it('is told what it is taken for where its type is not known', () => {
    information.effectiveType = '4g';
    watch(information);
    information.become({ effectiveType: '3g' });
    expect(told).toEqual([true]);
  });

  it('is no news where the same network is only faster or slower', () => {
    Object.assign(information, { type: 'wifi', effectiveType: '4g' });
    watch(information);
    information.become({ downlink: 2 });
    information.become({ effectiveType: '3g' });
    expect(told).toEqual([]);
  });

  it('leaves it to the page that there is none', () => {
    information.type = 'wifi';
    watch(information);
    information.become({ type: 'none' });
    expect(told).toEqual([]);
    information.become({ type: 'ethernet' });
    expect(told).toEqual([true]);
  });
});
