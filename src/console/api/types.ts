import type { Static } from 'typebox';
import type {
  BackendDetails as BackendDetailsSchema,
  BackendList as BackendListSchema,
  ReportList as ReportListSchema,
} from '../../tenancy/http/schemas/backends.ts';
import type { BundleList as BundleListSchema } from '../../tenancy/http/schemas/bundles.ts';
import type {
  NewRollout as NewRolloutSchema,
  Rollout as RolloutSchema,
  RolloutList as RolloutListSchema,
} from '../../tenancy/http/schemas/rollouts.ts';
import type { ErrorBody } from '../../tenancy/http/schemas/common.ts';
import type { EnvDetails as EnvDetailsSchema, EnvList as EnvListSchema } from '../../tenancy/http/schemas/envs.ts';
import type { Fleet as FleetSchema } from '../../tenancy/http/schemas/fleet.ts';
import type { Caller as CallerSchema } from '../../tenancy/http/schemas/operators.ts';

/** What the API answers, by the schemas of the service. */
export type Caller = Static<typeof CallerSchema>;
export type Role = Caller['role'];
export type EnvList = Static<typeof EnvListSchema>;
export type Env = EnvList['envs'][number];
export type Fleet = Static<typeof FleetSchema>;
export type EnvCounts = Fleet['envs'][number];
export type EnvDetails = Static<typeof EnvDetailsSchema>;
export type BackendList = Static<typeof BackendListSchema>;
export type Backend = BackendList['backends'][number];
export type BackendState = Backend['state'];
export type BackendDetails = Static<typeof BackendDetailsSchema>;
export type Refusal = NonNullable<ErrorBody['error']['refusals']>[number];
export type ReceivedReport = NonNullable<BackendDetails['last_report']>;
export type Bundle = NonNullable<EnvDetails['desired']>;
export type BundleList = Static<typeof BundleListSchema>;
export type Rollout = Static<typeof RolloutSchema>;
export type RolloutList = Static<typeof RolloutListSchema>;
export type ReportList = Static<typeof ReportListSchema>;
export type NewRollout = Static<typeof NewRolloutSchema>;
