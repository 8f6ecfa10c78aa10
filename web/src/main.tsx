import { effect } from '@preact/signals';
import { render } from 'preact';
import { Session } from './state/session';
import './styles/index.css';
import { App } from './ui/app';

const root = document.getElementById('app');
if (root === null) {
  throw new Error('the page has no element #app');
}
const session = new Session();
effect(() => {
  const title = session.store.hello.value?.title ?? null;
  document.title = title === null ? 'anabranch' : `${title} · anabranch`;
});
render(<App session={session} />, root);
