import { HelpDialog, type Term } from '../../ui/help-dialog';
import { KEYS } from '../keys';

/** What figures and signs mean. */
const TERMS: readonly Term[] = [
  ['Delay', 'how long media may take from the server to the screen: more of it mends more losses'],
  ['Zapping', 'from the key to the first picture of the new channel'],
  ['Behind live', 'how long ago the server had what is on the screen'],
  ['Late, lost', 'pictures that came after their time, or never'],
  ['Off air', 'the server has nothing of this channel now; it goes on by itself when it has'],
];

/** The remote control, explained. */
export function Help() {
  return <HelpDialog keys={KEYS} terms={TERMS} />;
}
