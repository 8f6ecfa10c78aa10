import { effect } from '@preact/signals';
import { render } from 'preact';
import { embeddedIn } from './address';
import { Session } from './state/session';
import './styles/index.css';
import { App } from './ui/app';

const root = document.getElementById('app');
if (root === null) {
  throw new Error('the page has no element #app');
}
const session = new Session(embeddedIn(location.pathname));
effect(() => {
  const name = session.store.channel.value?.name;
  document.title = name === undefined ? 'Television · anabranch' : `${name} · anabranch`;
});
render(<App session={session} />, root);
