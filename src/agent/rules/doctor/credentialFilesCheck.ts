import {
  type Check,
  checkResult,
  excessPermissions,
  type FileFacts,
  type ProgramUser,
  unknownCheck,
} from '../../../core/doctor.rules.ts';

/** Checks that only the agent may read the credentials. */
export function checkCredentialFiles(token: FileFacts, grant: FileFacts, { name }: ProgramUser): Check {
  if (token.found === 'hidden' || grant.found === 'hidden')
    return unknownCheck('credential files', 'they are not for this user: use sudo');
  const grantIsForeign = grant.found !== null && grant.readable === false;
  return checkResult(
    'credential files',
    [token, grant]
      .filter(({ found }) => found)
      .map(({ path }) => path)
      .join(', '),
    [
      ...excessPermissions(token, 0o077, 600),
      ...excessPermissions(grant, 0o077, 600),
      ...(grantIsForeign
        ? [{ problem: `${name} cannot read the grant ${grant.path}`, fix: `sudo chown ${name}: ${grant.path}` }]
        : []),
    ],
  );
}
