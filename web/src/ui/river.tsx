import type { PathView } from '../state/path-history';
import { useSession } from './context';
import { rate, words } from './format';
import { pathColour, pathName } from './path-words';

const WIDTH = 600;
const BRANCH_HEIGHT = 34;
const THINNEST = 2;
const THICKEST = 14;
/** At this rate a branch is as thick as it gets. */
const FULL_KBPS = 20_000;
/** Heartbeats alone do not make a branch flow. */
const DRY_KBPS = 5;

/** The paths as branches of one river: as wide as what flows, and broken where a link is cut. */
export function River() {
  const { store } = useSession();
  const paths = store.paths.value;
  const height = Math.max(2, paths.length) * BRANCH_HEIGHT;
  return (
    <section class="river card" aria-label="What flows where">
      <span class="bank">sender</span>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {paths.map((path, index) => (
          <Branch
            key={path.id}
            path={path}
            place={index + 1}
            y={(index + 0.5) * (height / paths.length)}
            middle={height / 2}
          />
        ))}
      </svg>
      <ul>
        {paths.map((path, index) => (
          <li key={path.id} style={{ color: `var(${pathColour(index + 1)})` }}>
            {pathName(path)}
            <span class="figure">{path.link?.cut ? 'cut' : words(rate(path.deliveredKbps))}</span>
          </li>
        ))}
      </ul>
      <span class="bank">receiver</span>
    </section>
  );
}

interface BranchProps {
  readonly path: PathView;
  readonly place: number;
  readonly y: number;
  readonly middle: number;
}

function Branch({ path, place, y, middle }: BranchProps) {
  const line = course(y, middle);
  const kbps = path.deliveredKbps ?? 0;
  const cut = path.link?.cut ?? false;
  const flows = kbps > DRY_KBPS && !cut;
  const share = Math.min(1, Math.sqrt(kbps / FULL_KBPS));
  const width = flows ? THINNEST + (THICKEST - THINNEST) * share : THINNEST;
  return (
    <g
      class={`branch ${cut ? 'cut' : flows ? '' : 'dry'}`}
      style={{ '--path': `var(${pathColour(place)})` }}
    >
      <path class="bed" d={line} style={{ strokeWidth: `${width}px` }} />
      {flows && <path class="flow" d={line} />}
    </g>
  );
}

/** From the middle of one bank to the height of the branch and back to the middle of the other. */
function course(y: number, middle: number): string {
  const bend = WIDTH * 0.22;
  const [early, late] = [bend * 0.5, bend * 0.6];
  return [
    `M0 ${middle}`,
    `C${late} ${middle} ${early} ${y} ${bend} ${y}`,
    `H${WIDTH - bend}`,
    `C${WIDTH - early} ${y} ${WIDTH - late} ${middle} ${WIDTH} ${middle}`,
  ].join('');
}
