import { Notices } from '../../ui/notices';
import type { Desk } from '../desk';
import { Channels } from './channels';
import { DeskContext } from './context';
import { Header } from './header';
import { SignIn } from './sign-in';
import { Summary } from './summary';
import { UrgentDesk } from './urgent';
import { Viewers } from './viewers';

export function App({ desk }: { readonly desk: Desk }) {
  return (
    <DeskContext.Provider value={desk}>
      <Header />
      <Body desk={desk} />
      <Notices notices={desk.notices.value} dismiss={(id) => desk.dismiss(id)} />
    </DeskContext.Provider>
  );
}

function Body({ desk }: { readonly desk: Desk }) {
  const access = desk.access.value;
  switch (access.state) {
    case 'closed':
      return <SignIn why={access.why} />;
    case 'asking':
      return (
        <main class="door">
          <p class="empty">{desk.answers.value ? 'Asking …' : 'The server does not answer.'}</p>
        </main>
      );
    case 'open':
      return (
        <main class="desk">
          <Summary />
          <div class="columns">
            <Channels />
            <UrgentDesk />
          </div>
          <Viewers />
        </main>
      );
  }
}
