import type { Ref } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { callStatus, microphoneWords, peerName } from '../words';
import { useCall } from './context';
import { Controls } from './controls';
import { MicrophoneIcon } from './icons';
import { Level } from './level';
import { useClock } from './use-clock';

/** Both pictures: before the call our own is the large one. */
export function Stage({ box }: { readonly box: Ref<HTMLElement> }) {
  const session = useCall();
  const { store } = session;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (canvas.current !== null) {
      session.start(canvas.current);
    }
  }, [session]);
  const camera = store.state.value?.peer?.media.camera;
  const isSeen = store.isCall.value && camera === 'on' && (store.screen.value?.shown ?? 0) > 0;
  return (
    <section class="stage card" ref={box} aria-label="Call" data-call={store.isCall.value}>
      <div class="pictures">
        <canvas
          ref={canvas}
          width={1280}
          height={720}
          class={isSeen ? 'theirs' : 'theirs hidden'}
          role="img"
          aria-label={`Picture of ${peerName(store)}`}
          data-testid="video"
          data-shown={store.screen.value?.shown ?? 0}
        />
        <Banner />
        {store.isCall.value && <Them />}
        <Us />
        <SoundHeldBack />
      </div>
      <Controls box={box} />
    </section>
  );
}

function Banner() {
  const session = useCall();
  const { store } = session;
  const now = useClock(store.retryAtMs.value !== null, 250);
  const { long, severity } = callStatus(store, now);
  const isTaken = store.taken.value !== null;
  const isBefore = ['waiting', 'calling'].includes(store.state.value?.state ?? '');
  const isLive = store.connection.value.state === 'open';
  if (long === null) {
    return null;
  }
  return (
    <div class={isBefore && isLive ? 'call-banner low' : 'call-banner'}>
      <p data-testid="banner" role={severity === 'bad' ? 'alert' : 'status'}>
        {long}
      </p>
      {isTaken && (
        <button type="button" data-testid="reopen" onClick={() => session.reopen()}>
          Have it here
        </button>
      )}
    </div>
  );
}

function Them() {
  const { store } = useCall();
  const microphone = microphoneWords(store.state.value?.peer?.media.microphone);
  return (
    <p class="name them">
      {microphone !== null && <MicrophoneIcon on={false} />}
      <span data-testid="their-name">
        {peerName(store)}
        {microphone !== null && `, ${microphone}`}
      </span>
      <Level name="How loud the other end is" level={store.theirLevel.value} testId="level-them" />
    </p>
  );
}

function Us() {
  const { store, devices, screen } = useCall();
  const player = useRef<HTMLVideoElement>(null);
  const track = screen.track.value ?? devices.camera.track.value;
  useEffect(() => {
    if (player.current !== null) {
      player.current.srcObject = track === null ? null : new MediaStream([track]);
    }
  }, [track]);
  const microphone = devices.microphone.state.value;
  return (
    <div class="us" data-testid="self-view" data-camera={devices.camera.state.value}>
      <video
        ref={player}
        class={screen.track.value === null ? 'mirror' : ''}
        autoplay
        muted
        playsInline
        aria-label="Your own picture"
      />
      {track === null && <p class="no-camera">{noPicture(devices.camera.state.value)}</p>}
      <p class="name">
        {microphone !== 'on' && <MicrophoneIcon on={false} />}
        <span>{store.hello.value?.name ?? 'You'}</span>
        <Level name="How loud you are" level={store.ourLevel.value} testId="level-us" />
      </p>
    </div>
  );
}

function noPicture(camera: string): string {
  return camera === 'muted' ? 'Camera off' : 'No camera';
}

function SoundHeldBack() {
  const session = useCall();
  if (!session.isSilenced.value || session.store.connection.value.state !== 'open') {
    return null;
  }
  return (
    <p class="held-back" role="alert">
      <span>The browser holds the sound back. Press any key, or click here.</span>
    </p>
  );
}
