import type { NewSignature } from '../../signatures/sign/signBundle.ts';
import type { Statement } from '../../signatures/statement.ts';
import { caFileOf } from '../config/connection.ts';
import { sigstoreOf, type SigstoreOptions } from '../config/sigstore.ts';
import { readSettings } from '../config/settingsFile.ts';
import { readTrustRoot } from '../config/trustFile.ts';
import type { Session } from '../session.ts';
import { readIdentityToken } from './identityToken.ts';
import { openPost } from './post.ts';
import { sigstoreServices } from './sigstoreServices.ts';

/** What the command line says of a signature without a key. */
export interface KeylessOptions extends SigstoreOptions {
  identityToken?: string;
}

/**
 * Signs as the holder of an OIDC token, with a certificate of a Sigstore instance, and has it logged there. Throws CtlErrors,
 * and a `SignatureFault` where hosts with the trust root that is named would not believe it.
 */
export async function signByIdentity(
  session: Session,
  statement: Statement,
  options: KeylessOptions,
): Promise<NewSignature & { remarks: [string, string][] }> {
  const { io, options: common } = session;
  const settings = readSettings(common.config, io.env);
  const target = sigstoreOf(options, settings);
  const root = target.root === null ? null : readTrustRoot(target.root);
  const token = await readIdentityToken(session, options.identityToken);
  const { signKeyless } = await import('../../signatures/sign/keyless/signKeyless.ts');
  const { post, close } = openPost(caFileOf(common, io.env, settings), token);
  try {
    const signed = await signKeyless(statement, sigstoreServices(target, token, post), root);
    return {
      ...signed,
      remarks: [
        ['log', target.rekor.href],
        ['verified', verifiedBy(target.root)],
      ],
    };
  } finally {
    close();
  }
}

function verifiedBy(root: string | null): string {
  return root === null ? 'no: name the trust root of the hosts by --root' : `by ${root}`;
}
