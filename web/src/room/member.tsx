/** The page of a room as the agent on this machine gives it, which owns the network. */

import { visit } from './visit';

visit('agent');
