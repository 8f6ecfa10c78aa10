import { Paths } from '../../call/ui/paths';
import { useRoom } from './context';

/** The networks of this machine, where an agent owns them. */
export function Networks() {
  const session = useRoom();
  const networks = session.store.networks.value;
  if (networks === null) {
    return null;
  }
  return (
    <Paths
      paths={networks.paths}
      isTwice={networks.twice}
      note={networks.direct ? session.store.listeners.value : null}
      request={(request) => session.request(request)}
    />
  );
}
