import { render } from 'preact';
import { Desk } from './desk';
import './styles/index.css';
import { takeToken } from './token';
import { App } from './ui/app';

const root = document.getElementById('app');
if (root === null) {
  throw new Error('the page has no element #app');
}
const desk = new Desk();
desk.open(takeToken());
// The address that the program printed, opened once more in the same tab.
window.addEventListener('hashchange', () => desk.open(takeToken()));
render(<App desk={desk} />, root);
