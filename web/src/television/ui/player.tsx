import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { ChannelSign, Typing } from '../../channels/signs';
import { UrgentMessages } from '../../channels/urgent';
import { Banner } from './banner';
import { useSession } from './context';
import { Controls } from './controls';
import { Figures } from './figures';
import { Radio } from './radio';

interface Props {
  readonly box: RefObject<HTMLElement | null>;
}

export function Player({ box }: Props) {
  const session = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  // Before the first frame is drawn: the connection takes its time as well.
  useLayoutEffect(() => {
    if (canvas.current !== null) {
      session.start(canvas.current);
    }
  }, [session]);
  const { store } = session;
  return (
    <section class="tv-player" aria-label="Television" ref={box}>
      <div class="screen">
        <canvas
          ref={canvas}
          data-testid="video"
          data-state={store.reception.value.state}
          data-radio={store.isRadio.value}
          data-zap-ms={store.zapMs.value ?? ''}
          data-opened-ms={store.openedMs.value ?? ''}
          data-shown={store.report.value?.shown ?? 0}
        />
        <Banner />
        <Radio />
        <ChannelSign channel={store.channel.value} />
        <Typing />
        <Figures />
        <UrgentMessages
          messages={store.urgent.value}
          onSeen={(id) => session.seen(id)}
          onClose={(id) => store.removeUrgent(id)}
        />
      </div>
      <Controls box={box} />
    </section>
  );
}
