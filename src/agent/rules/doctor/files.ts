import { checked, octal, unseen, type Agent, type Check, type FileFacts, type Finding } from './doctor.ts';

/** The configuration: what is wrong in it, and who may touch it. */
export interface ConfigFacts {
  file: FileFacts;
  /** One line for each flaw, as any command tells it. */
  flaws: string[];
}

/** The state directory, and those of its entries that belong to somebody else than the agent. */
export interface StateDirFacts {
  dir: FileFacts;
  strays: string[];
}

/** Reads without a flaw, is the agent's to read and nobody's but root's to write (spec §4). */
export function judgeConfig({ file, flaws }: ConfigFacts, agent: Agent): Check {
  const { path, found, readable } = file;
  if (found === 'hidden') return unseen('config', `${path} is not for this user: use sudo`);
  const invalid = flaws.map((what) => ({ what, fix: `sudoedit ${path}` }));
  return checked('config', path, [
    ...invalid,
    ...(readable === false
      ? [
          {
            what: `${agent.name} cannot read ${path}`,
            fix: `sudo chgrp ${agent.name} ${path} && sudo chmod 640 ${path}`,
          },
        ]
      : []),
    ...tooOpen(file, 0o027, 640),
  ]);
}

/** Is there, for the agent alone, and all in it is the agent's. */
export function judgeStateDir({ dir, strays }: StateDirFacts, { name }: Agent): Check {
  const { path, found } = dir;
  const make = `sudo install -d -m 0700 -o ${name} -g ${name} ${path}`;
  if (found === 'hidden') return unseen('state directory', `${path} is not for this user: use sudo`);
  if (found === null) return checked('state directory', path, [{ what: `${path} does not exist`, fix: make }]);
  return checked('state directory', path, [
    ...tooOpen(dir, 0o077, 700),
    ...strays.map((stray) => {
      return { what: `${stray} does not belong to ${name}`, fix: `sudo chown -R --reference=${path} ${stray}` };
    }),
  ]);
}

/** Nobody but the agent may read a credential; the grant must also be his to remove. */
export function judgeCredentialFiles(token: FileFacts, grant: FileFacts, { name }: Agent): Check {
  if (token.found === 'hidden' || grant.found === 'hidden')
    return unseen('credential files', 'they are not for this user: use sudo');
  const grantIsForeign = grant.found !== null && grant.readable === false;
  return checked(
    'credential files',
    [token, grant]
      .filter(({ found }) => found)
      .map(({ path }) => path)
      .join(', '),
    [
      ...tooOpen(token, 0o077, 600),
      ...tooOpen(grant, 0o077, 600),
      ...(grantIsForeign
        ? [{ what: `${name} cannot read the grant ${grant.path}`, fix: `sudo chown ${name}: ${grant.path}` }]
        : []),
    ],
  );
}

/** A file that more people may use than its bits in `mask` say, and the mode that it should have. */
export function tooOpen({ path, found }: FileFacts, mask: number, should: number): Finding[] {
  if (found === null || found === 'hidden' || (found.mode & mask) === 0) return [];
  const what = `${path} has mode ${octal(found.mode)}: more users have access than should`;
  return [{ what, fix: `sudo chmod ${should} ${path}` }];
}
