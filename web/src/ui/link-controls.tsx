import { useMemo } from 'preact/hooks';
import { CutIcon } from '../common/icons';
import type { LinkSettings } from '../protocol/program';
import type { PathView } from '../state/path-history';
import { useSession } from './context';
import { useDraft } from './draft';
import { plain, rate, words } from './format';
import { pathName } from './path-words';
import { logarithmicStops, nearestStop, squaredStops } from './stops';

interface Props {
  readonly path: PathView;
  readonly link: LinkSettings;
  readonly place: number;
}

/** The emulated link's sliders and the button that cuts it. */
export function LinkControls({ path, link, place }: Props) {
  const session = useSession();
  const ranges = session.store.hello.value?.controls.links ?? null;
  const [shown, change] = useDraft(link, (value) => session.setLink(path.id, value));
  const stops = useMemo(
    () =>
      ranges && {
        rate: logarithmicStops(ranges.rate_kbps),
        delay: squaredStops(ranges.delay_ms, 1),
        loss: squaredStops(ranges.loss_percent, 0.1),
      },
    [ranges],
  );
  if (stops === null) {
    return null;
  }
  return (
    <fieldset class="link">
      <legend class="visually-hidden">Emulated link of {pathName(path)}</legend>
      <Slider
        name="Link rate"
        stops={stops.rate}
        value={shown.rate_kbps}
        text={linkRate(shown.rate_kbps)}
        onInput={(rate_kbps) => change({ ...shown, rate_kbps })}
        testId="link-rate"
      />
      <Slider
        name="Delay"
        stops={stops.delay}
        value={shown.delay_ms}
        text={`${plain(shown.delay_ms)} ms`}
        onInput={(delay_ms) => change({ ...shown, delay_ms })}
        testId="link-delay"
      />
      <Slider
        name="Loss"
        stops={stops.loss}
        value={shown.loss_percent}
        text={`${plain(shown.loss_percent)} %`}
        onInput={(loss_percent) => change({ ...shown, loss_percent })}
        testId="link-loss"
      />
      <CutButton
        name={pathName(path)}
        place={place}
        cut={shown.cut}
        onChange={(cut) => change({ ...shown, cut })}
      />
    </fieldset>
  );
}

interface CutProps {
  /** Of the path. */
  readonly name: string;
  readonly place: number;
  readonly cut: boolean;
  readonly onChange: (cut: boolean) => void;
}

function CutButton({ name, place, cut, onChange }: CutProps) {
  const does = cut ? 'Mend' : 'Cut';
  return (
    <button
      type="button"
      class={cut ? 'cut mend' : 'cut'}
      onClick={() => onChange(!cut)}
      title={`${does} ${name} (${place})`}
      aria-label={`${does} ${name}`}
      data-testid="cut"
    >
      <CutIcon />
      <span>{does}</span>
    </button>
  );
}

interface SliderProps {
  readonly name: string;
  readonly stops: readonly number[];
  readonly value: number;
  readonly text: string;
  readonly onInput: (value: number) => void;
  readonly testId: string;
}

function Slider({ name, stops, value, text, onInput, testId }: SliderProps) {
  const place = nearestStop(stops, value);
  return (
    <label class="slider">
      <span class="slider-name">{name}</span>
      <span class="slider-value">{text}</span>
      <input
        type="range"
        min={0}
        max={stops.length - 1}
        step={1}
        value={place}
        aria-valuetext={text}
        onInput={({ currentTarget }) => onInput(stops[currentTarget.valueAsNumber] ?? value)}
        data-testid={testId}
      />
    </label>
  );
}

function linkRate(kbps: number): string {
  return kbps >= 1000 ? `${plain(kbps / 1000)} Mbit/s` : words(rate(kbps));
}
