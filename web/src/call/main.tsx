import { effect } from '@preact/signals';
import { render } from 'preact';
import { CallSession } from './state/session';
import './styles/index.css';
import { App } from './ui/app';
import { peerName } from './words';

const root = document.getElementById('app');
if (root === null) {
  throw new Error('the page has no element #app');
}
const session = new CallSession();
effect(() => {
  const { store } = session;
  const waiting = store.unread.value > 0 ? `(${store.unread.value}) ` : '';
  const whom = store.isCall.value ? `${peerName(store)} · call` : 'Call';
  document.title = `${waiting}${whom} · anabranch`;
});
render(<App session={session} />, root);
