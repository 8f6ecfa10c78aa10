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
  document.title = store.isCall.value
    ? `${peerName(store)} · call · anabranch`
    : 'Call · anabranch';
});
render(<App session={session} />, root);
