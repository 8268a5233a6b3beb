import { sep } from 'node:path';
import type { KeyProblem } from '../../core/config/keyTable.ts';
import { realPathOf } from '../../core/filesystems.ts';
import type { Settings } from './settings.ts';

/** What no two envs of a host may have in common. */
export interface Claims {
  readonly file: string;
  readonly env?: string | undefined;
  readonly state_dir?: string | undefined;
  readonly bootstrap_file?: string | undefined;
  readonly textfile?: string | null | undefined;
}

/** What a configuration claims, as far as it is valid. */
export function claimsOf(file: string, { env, state_dir, bootstrap_file, metrics }: Partial<Settings>): Claims {
  return { file, env, state_dir, bootstrap_file, textfile: metrics?.textfile };
}

/** What the configuration of a named env must not say: another env, and what another configuration of the host has (spec §22.3). */
export function collisionsOf(namedEnv: string, own: Claims, others: readonly Claims[]): KeyProblem[] {
  const problems: KeyProblem[] =
    own.env === undefined || own.env === namedEnv
      ? []
      : [{ key: 'env', message: `must be ${namedEnv}, as the directory of this file and deployd@${namedEnv} say` }];
  return [...problems, ...others.flatMap((other) => sharedBy(own, other))];
}

function sharedBy(own: Claims, { file, ...other }: Claims): KeyProblem[] {
  const isShared = (a: string | null | undefined, b: string | null | undefined) =>
    typeof a === 'string' && typeof b === 'string' && realPathOf(a) === realPathOf(b);
  const shared: [string, boolean][] = [
    ['env', own.env !== undefined && own.env === other.env],
    ['bootstrap_file', isShared(own.bootstrap_file, other.bootstrap_file)],
    ['metrics.textfile', isShared(own.textfile, other.textfile)],
  ];
  const problems = shared.filter(([, is]) => is).map(([key]) => ({ key, message: `is that of ${file} too` }));
  if (!isOverlapping(own.state_dir, other.state_dir)) return problems;
  return [...problems, { key: 'state_dir', message: `must not be, hold or lie in the state_dir of ${file}` }];
}

function isOverlapping(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const [one, two] = [realPathOf(a) + sep, realPathOf(b) + sep];
  return one.startsWith(two) || two.startsWith(one);
}
