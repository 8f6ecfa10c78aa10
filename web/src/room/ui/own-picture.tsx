import { useEffect, useRef } from 'preact/hooks';
import { noPicture } from '../words';
import { useRoom } from './context';

/** What others see of oneself: the camera as in a mirror, or the screen. */
export function OwnPicture() {
  const { devices, screen } = useRoom();
  const player = useRef<HTMLVideoElement>(null);
  const track = screen.track.value ?? devices.camera.track.value;
  useEffect(() => {
    if (player.current !== null) {
      player.current.srcObject = track === null ? null : new MediaStream([track]);
    }
  }, [track]);
  return (
    <>
      <video
        ref={player}
        class={screen.track.value === null ? 'mirror' : ''}
        autoplay
        muted
        playsInline
        aria-label="Your own picture"
      />
      {track === null && <p class="no-picture">{noPicture(devices.camera.state.value, false)}</p>}
    </>
  );
}
