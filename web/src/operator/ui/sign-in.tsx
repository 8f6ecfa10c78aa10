import { useRef } from 'preact/hooks';
import { useDesk } from './context';

/** Asks for the token, and says what was wrong with the last one. */
export function SignIn({ why }: { readonly why: string | null }) {
  const desk = useDesk();
  const field = useRef<HTMLInputElement>(null);
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    desk.open(field.current?.value.trim() ?? '');
  };
  return (
    <main class="door">
      <form class="card sign-in" onSubmit={onSubmit}>
        <h2>Operator's page</h2>
        <p id="sign-in-help">
          The program prints this page's address with its token when it starts; or type the token.
        </p>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            ref={field}
            required
            autocomplete="off"
            aria-describedby={why === null ? 'sign-in-help' : 'sign-in-why'}
            aria-invalid={why !== null}
            data-testid="token"
          />
        </label>
        {why !== null && (
          <p class="bad" id="sign-in-why" role="alert" data-testid="why">
            {why}
          </p>
        )}
        <button type="submit" class="main-button">
          Open
        </button>
      </form>
    </main>
  );
}
