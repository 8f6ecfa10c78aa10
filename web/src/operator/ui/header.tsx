import { LeaveIcon, Logo, ThemeIcon } from '../../common/icons';
import { switchTheme, theme } from '../../ui/theme';
import { useDesk } from './context';

export function Header() {
  const desk = useDesk();
  const isOpen = desk.access.value.state === 'open';
  const other = theme.value === 'dark' ? 'light' : 'dark';
  return (
    <header>
      <h1>
        <Logo />
        anabranch
      </h1>
      <span class="title">Operator</span>
      {isOpen && <Pill answers={desk.answers.value} />}
      <nav aria-label="Page">
        <button
          type="button"
          class="icon-button"
          onClick={switchTheme}
          aria-label={`Switch to the ${other} theme`}
          title={`Switch to the ${other} theme`}
        >
          <ThemeIcon />
        </button>
        {isOpen && (
          <button
            type="button"
            class="icon-button"
            onClick={() => desk.leave()}
            aria-label="Leave: forget the token"
            title="Leave: forget the token"
            data-testid="leave"
          >
            <LeaveIcon />
          </button>
        )}
      </nav>
    </header>
  );
}

function Pill({ answers }: { readonly answers: boolean }) {
  return (
    <p class={`pill ${answers ? 'good' : 'bad'}`} role="status" data-testid="status">
      {answers ? 'Live' : 'The server does not answer'}
    </p>
  );
}
