import type { AnyOperatorRoute } from './operatorRoute.ts';
import { auditRoutes } from './routes/audit.ts';
import { backendRoutes } from './routes/backends.ts';
import { bundleRoutes } from './routes/bundles.ts';
import { envRoutes } from './routes/envs.ts';
import { eventRoutes } from './routes/events.ts';
import { operatorAccountRoutes } from './routes/operators.ts';
import { rolloutRoutes } from './routes/rollouts.ts';
import { secretRoutes } from './routes/secrets.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { signatureRoutes } from './routes/signatures.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** All routes of the operators' API. */
export const operatorRoutes: readonly AnyOperatorRoute[] = [
  ...operatorAccountRoutes,
  ...sessionRoutes,
  ...envRoutes,
  ...rolloutRoutes,
  ...secretRoutes,
  ...backendRoutes,
  ...bundleRoutes,
  ...signatureRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...eventRoutes,
];
