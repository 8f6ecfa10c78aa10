import { render } from 'preact';
import { Session } from './state/session';
import './styles/index.css';
import { App } from './ui/app';

const root = document.getElementById('app');
if (root === null) {
  throw new Error('the page has no element #app');
}
render(<App session={new Session()} />, root);
