import type { Listed, MediaDevicesOfPage } from '../capture/devices';
import { useCall } from './context';

const NAMES: Readonly<Record<Listed, string>> = {
  microphone: 'Microphone',
  camera: 'Camera',
  loudspeaker: 'Loudspeaker',
};

/** What is wrong with a device, and which ones there are. */
export function Devices() {
  const session = useCall();
  const { store, devices } = session;
  const sends = store.hello.value?.page_sends;
  const listed: Listed[] = [
    ...(sends?.voice !== false ? ['microphone' as const] : []),
    ...(sends?.video !== false ? ['camera' as const] : []),
    ...(session.canRoute.value ? ['loudspeaker' as const] : []),
  ];
  return (
    <section class="panel card devices" aria-labelledby="devices-title" data-testid="devices">
      <h2 id="devices-title">Devices</h2>
      <p class="bad" role="alert" data-testid="device-trouble">
        {devices.text.value ?? ''}
      </p>
      {listed.map((kind) => (
        <Choose
          key={kind}
          devices={devices}
          kind={kind}
          onChoose={(listed, id) => session.choose(listed, id)}
        />
      ))}
    </section>
  );
}

interface ChooseProps {
  readonly devices: MediaDevicesOfPage;
  readonly kind: Listed;
  readonly onChoose: (kind: Listed, id: string) => void;
}

/** Which of several devices is used. */
export function Choose({ devices, kind, onChoose }: ChooseProps) {
  const choices = devices.lists.value[kind];
  const chosen = devices.chosen.value[kind] ?? choices[0]?.id ?? '';
  return (
    <label class="choose">
      <span>{NAMES[kind]}</span>
      <select
        value={chosen}
        disabled={choices.length === 0}
        onChange={({ currentTarget }) => onChoose(kind, currentTarget.value)}
        data-testid={`choose-${kind}`}
      >
        {choices.length === 0 && <option value="">None</option>}
        {choices.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
