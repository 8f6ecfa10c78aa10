import { useRoom } from './context';

/** Why there is no camera or microphone, and what to do about it. */
export function DeviceTrouble() {
  const { devices } = useRoom();
  return (
    <p class="bad device-trouble" role="alert" data-testid="device-trouble">
      {devices.text.value ?? ''}
    </p>
  );
}
