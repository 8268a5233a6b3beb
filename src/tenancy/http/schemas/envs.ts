import { Type } from 'typebox';
import { Body, EnvName, Nullable, Sha256 } from './common.ts';

/** An env of the URL. */
export const EnvParams = Type.Object({ env: EnvName });

/** An env. */
export const Env = Type.Object(
  {
    name: EnvName,
    production: Type.Boolean({ description: 'Hosts never remove its volumes.' }),
    desired_sha: Nullable(Sha256),
    last_sequence: Type.Integer({ description: 'The highest sequence that was given to a bundle.' }),
    backends: Type.Record(Type.String(), Type.Integer(), { description: 'Number of backends by state.' }),
  },
  { title: 'Env' },
);

/** Envs by name. */
export const EnvList = Type.Object({ envs: Type.Array(Env) }, { title: 'EnvList' });
/** A new env. */
export const NewEnv = Body({ name: EnvName, production: Type.Boolean() });
/** What is desired of an env; null for nothing. */
export const Desired = Body({ sha256: Nullable(Sha256) });
/** A reserved sequence. */
export const Sequence = Type.Object({ sequence: Type.Integer() }, { title: 'Sequence' });
