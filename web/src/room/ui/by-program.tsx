import { useSignal } from '@preact/signals';
import { CopyField } from '../../ui/copy-field';
import { useRoom } from './context';

/** How to enter by the program, for who has several networks. */
export function ByProgram() {
  const session = useRoom();
  const link = useSignal<string | null>(null);
  const problem = useSignal('');
  if (session.way === 'agent') {
    return null;
  }
  const ask = async () => {
    if (link.value === null) {
      const answer = await session.agentLink();
      link.value = answer.link;
      problem.value = answer.problem;
    }
  };
  return (
    <details class="by-program" onToggle={() => void ask()}>
      <summary data-testid="by-program">On several networks at once?</summary>
      <p>
        A browser uses one network at a time. The program anabranch uses all of them, and shows this
        room on a page of this machine:
      </p>
      {link.value === null ? (
        <p class="muted">{problem.value}</p>
      ) : (
        <CopyField
          text={`anabranch call '${link.value}'`}
          label="Command to enter by the program"
          copied="Copied. Run it in a terminal of this machine."
        />
      )}
    </details>
  );
}
