import { Choose } from '../../call/ui/devices';
import { useRoom } from './context';

/** Which of several devices are used; another one may be taken at any time. */
export function Devices() {
  const session = useRoom();
  const listed = session.canRoute.value
    ? (['microphone', 'camera', 'loudspeaker'] as const)
    : (['microphone', 'camera'] as const);
  return (
    <details class="panel card own-devices" data-testid="devices">
      <summary>Devices</summary>
      <div class="devices">
        {listed.map((kind) => (
          <Choose
            key={kind}
            devices={session.devices}
            kind={kind}
            onChoose={(listed, id) => session.choose(listed, id)}
          />
        ))}
      </div>
    </details>
  );
}
