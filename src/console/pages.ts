import type { Page } from './components/page.ts';
import type { PageName } from './core/pages.rules.ts';
import { auditPage } from './views/audit.ts';
import { backendPage } from './views/backend.ts';
import { diffPage } from './views/diff.ts';
import { envPage, envsPage } from './views/envs.ts';
import { fleetPage } from './views/fleet.ts';
import { kitPage, retirePage } from './views/hostActions.ts';
import { peoplePage } from './views/people.ts';
import { secretsPage } from './views/secrets.ts';

/** Every page by its name. */
export const pages: Record<PageName, Page> = {
  fleet: fleetPage,
  envs: envsPage,
  env: envPage,
  secrets: secretsPage,
  diff: diffPage,
  backend: backendPage,
  kit: kitPage,
  retire: retirePage,
  audit: auditPage,
  people: peoplePage,
};
