import { identityTokenProblem } from '../../signatures/sign/keyless/identityToken.ts';
import { usageError } from '../ctlError.ts';
import { readSmallFile } from '../input/readSmallFile.ts';
import { readValue } from '../input/readValue.ts';
import type { Session } from '../session.ts';

/**
 * The OIDC token of whoever signs: of a file, of standard input (`-`), else SIGSTORE_ID_TOKEN. Throws IDENTITY_TOKEN_MISSING,
 * and IDENTITY_TOKEN_UNUSABLE for one that would get no certificate.
 */
export async function readIdentityToken({ io, nowMs }: Session, file: string | undefined): Promise<string> {
  const given = file === undefined ? io.env[variable] : await (file === '-' ? readInput(io) : readSmallFile(file));
  const token = given?.trim() ?? '';
  if (token === '')
    throw usageError(
      'IDENTITY_TOKEN_MISSING',
      'there is no OIDC token',
      `name its file by --identity-token, or set ${variable}`,
    );
  const problem = identityTokenProblem(token, nowMs);
  if (problem !== null) throw usageError('IDENTITY_TOKEN_UNUSABLE', `the OIDC token ${problem}`);
  return token;
}

const variable = 'SIGSTORE_ID_TOKEN';

function readInput(io: Session['io']): Promise<string> {
  return readValue(io, undefined, 'OIDC token');
}
