import { checkResult, formatMode, unknownCheck, type Check, type Finding } from './diagnosis.ts';
import type { ProgramUser, FileFacts } from '../platform/host/hostFacts.ts';

/** Facts of the configuration file. */
export interface ConfigFacts {
  file: FileFacts;
  /** One line for each problem, as every command prints it. */
  problems: string[];
}

/** The state directory, and the entries in it that do not belong to the program's user. */
export interface StateDirFacts {
  dir: FileFacts;
  foreignEntries: string[];
}

/** Checks that the configuration is valid, readable for the program's user and writable only for root (spec §4). */
export function checkConfig({ file, problems }: ConfigFacts, user: ProgramUser): Check {
  const { path, found, readable } = file;
  if (found === 'hidden') return unknownCheck('config', `${path} is not for this user: use sudo`);
  const invalid = problems.map((problem) => ({ problem, fix: `sudoedit ${path}` }));
  return checkResult('config', path, [
    ...invalid,
    ...(readable === false
      ? [
          {
            problem: `${user.name} cannot read ${path}`,
            fix: `sudo chgrp ${user.name} ${path} && sudo chmod 640 ${path}`,
          },
        ]
      : []),
    ...excessPermissions(file, 0o027, 640),
  ]);
}

/** Checks that the state directory exists, is accessible only to the program's user, and belongs to it with all entries. */
export function checkStateDir({ dir, foreignEntries }: StateDirFacts, { name }: ProgramUser): Check {
  const { path, found } = dir;
  const make = `sudo install -d -m 0700 -o ${name} -g ${name} ${path}`;
  if (found === 'hidden') return unknownCheck('state directory', `${path} is not for this user: use sudo`);
  if (found === null) return checkResult('state directory', path, [{ problem: `${path} does not exist`, fix: make }]);
  return checkResult('state directory', path, [
    ...excessPermissions(dir, 0o077, 700),
    ...foreignEntries.map((entry) => {
      return { problem: `${entry} does not belong to ${name}`, fix: `sudo chown -R --reference=${path} ${entry}` };
    }),
  ]);
}

/** A finding when a file has any permission bit of `mask`; the fix sets the mode `should`. */
export function excessPermissions({ path, found }: FileFacts, mask: number, should: number): Finding[] {
  if (found === null || found === 'hidden' || (found.mode & mask) === 0) return [];
  const problem = `${path} has mode ${formatMode(found.mode)}: more users have access than should`;
  return [{ problem, fix: `sudo chmod ${should} ${path}` }];
}
