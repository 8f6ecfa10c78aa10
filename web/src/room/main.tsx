/** The page of a room as its server gives it. */

import { visit } from './visit';

visit('server');
