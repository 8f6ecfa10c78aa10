import { Figure } from '../../ui/figure';
import { milliseconds, type Quantity, rate, signedMilliseconds, whole } from '../../ui/format';
import type { Quality as QualityIs } from '../protocol/agent';
import { useCall } from './context';

const WORDS: Readonly<Record<QualityIs['is'], string>> = { good: 'Good', fair: 'Fair', bad: 'Bad' };
const SEVERITY = { good: 'good', fair: 'warning', bad: 'bad' } as const;

/** How good the call is, and why; the figures behind it. */
export function Quality() {
  const { store } = useCall();
  const stats = store.stats.value;
  if (stats === null || !store.isCall.value) {
    return null;
  }
  const { quality, voice, video, theirs } = stats;
  const screen = store.screen.value;
  const lost = theirs === null ? null : theirs.concealed + theirs.pictures_lost;
  return (
    <section class="panel card quality" aria-labelledby="quality-title">
      <div class="panel-head">
        <h2 id="quality-title">Quality</h2>
        <span class={`pill ${SEVERITY[quality.is]}`} data-testid="quality">
          {WORDS[quality.is]}
        </span>
        <span class="why" role="status" data-testid="quality-why">
          {quality.text}
        </span>
      </div>
      <dl class="quality-figures">
        <Of name="Voice delay" of={milliseconds(voice.delay_ms)} testId="voice-delay" />
        <Count name="Concealed" value={voice.concealed} testId="concealed" />
        <Of name="Picture" of={{ value: screenWords(screen), unit: '/s' }} testId="picture" />
        <Count name="Pictures lost" value={video.lost + video.left_out} testId="lost" />
        <Of name="Lip sync" of={signedMilliseconds(screen?.skewMs ?? null)} testId="skew" />
        <Of name="May send" of={rate(sends(store.encode.value))} testId="allowed" />
        <Of name="Networks carry" of={rate(stats.carries_kbps)} testId="carries-kbps" />
        <Count name="Lost of yours" value={lost} testId="theirs-lost" />
      </dl>
      <p class="why" data-testid="encode-why">
        {store.encode.value?.why ?? ''}
      </p>
    </section>
  );
}

function screenWords(screen: { readonly height: number; readonly fps: number } | null): string {
  return screen === null || screen.height === 0 ? '–' : `${screen.height}p, ${screen.fps}`;
}

/** What voice and pictures may take together. */
function sends(
  encode: { readonly video_bps: number; readonly voice_bps: number } | null,
): number | null {
  return encode === null ? null : (encode.video_bps + encode.voice_bps) / 1000;
}

interface OfProps {
  readonly name: string;
  readonly of: Quantity;
  readonly testId: string;
}

function Of({ name, of, testId }: OfProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Figure quantity={of} testId={testId} />
      </dd>
    </div>
  );
}

interface CountProps {
  readonly name: string;
  readonly value: number | null;
  readonly testId: string;
}

function Count({ name, value, testId }: CountProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-testid={testId}>{whole(value)}</dd>
    </div>
  );
}
