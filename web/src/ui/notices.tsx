import { useEffect } from 'preact/hooks';
import type { Notice } from '../common/notices';

const SHOWN_MS = 10_000;

interface Props {
  readonly notices: readonly Notice[];
  readonly dismiss: (id: number) => void;
}

/** What the program refused and what the page could not do. */
export function Notices({ notices, dismiss }: Props) {
  return (
    <div class="notices" role="alert" data-testid="notices">
      {notices.map((notice) => (
        <Line key={notice.id} notice={notice} dismiss={() => dismiss(notice.id)} />
      ))}
    </div>
  );
}

function Line({ notice, dismiss }: { readonly notice: Notice; readonly dismiss: () => void }) {
  useEffect(() => {
    const timer = window.setTimeout(dismiss, SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <p class={notice.severity}>
      <span>{notice.text}</span>
      <button type="button" class="icon-button" onClick={dismiss} aria-label="Dismiss">
        ×
      </button>
    </p>
  );
}
