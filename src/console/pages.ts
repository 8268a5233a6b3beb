import type { Page } from './page.ts';
import type { PageName } from './rules/routes.ts';
import { backendPage } from './views/backend.ts';
import { envPage } from './views/env.ts';
import { envsPage } from './views/envs.ts';
import { fleetPage } from './views/fleet.ts';

/** Every page by its name. */
export const pages: Record<PageName, Page> = {
  fleet: fleetPage,
  envs: envsPage,
  env: envPage,
  backend: backendPage,
};
