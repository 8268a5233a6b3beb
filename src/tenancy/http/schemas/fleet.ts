import { Type } from 'typebox';
import { EnvName, Nullable, Sha256, Uuid } from './common.ts';

const EnvCounts = Type.Object(
  {
    name: EnvName,
    production: Type.Boolean(),
    desired_sha: Nullable(Sha256),
    backends: Type.Record(Type.String(), Type.Integer(), { description: 'Number of backends by state.' }),
    behind: Type.Integer({ description: 'Hosts that run another bundle than the desired one.' }),
    sick: Type.Integer({ description: 'Hosts that are unhealthy, or whose newest report tells of trouble.' }),
    deferred: Type.Record(Type.String(), Type.Integer(), { description: 'Number of hosts by what defers their work.' }),
    rollout: Nullable(
      Type.Object(
        { id: Uuid, state: Type.String() },
        { title: 'RunningRollout', description: 'The one that is neither done nor aborted.' },
      ),
    ),
  },
  { title: 'EnvCounts' },
);

/** A fleet at a glance. */
export const Fleet = Type.Object(
  {
    envs: Type.Array(EnvCounts),
    agents: Type.Array(Type.Object({ version: Type.String(), hosts: Type.Integer() }, { title: 'AgentVersion' }), {
      description: 'Hosts by the version of their agent, the newest first.',
    }),
  },
  { title: 'Fleet' },
);
