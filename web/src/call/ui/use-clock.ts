import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { nowMs } from '../../media/now';

/** The time (epoch, ms), anew every so often while something counts. */
export function useClock(isCounting: boolean, everyMs: number): number {
  const now = useSignal(nowMs());
  useEffect(() => {
    now.value = nowMs();
    if (!isCounting) {
      return undefined;
    }
    const timer = window.setInterval(() => {
      now.value = nowMs();
    }, everyMs);
    return () => window.clearInterval(timer);
  }, [isCounting, everyMs, now]);
  return now.value;
}
