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
  const name = session.store.channel.value?.name;
  document.title = name === undefined ? 'Television · anabranch' : `${name} · anabranch`;
});
render(<App session={session} embedded={embedded()} />, root);

/** The channel in `/embed/N`. */
function embedded(): number | null {
  const found = /\/embed\/(\d+)\/?$/.exec(location.pathname);
  return found === null ? null : Number(found[1]);
}
