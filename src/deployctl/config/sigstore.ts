import { usageError } from '../core/ctlError.ts';
import { serviceUrlOf } from './connection.ts';
import type { CtlSettings } from './configKeys.ts';

/** The services of a Sigstore instance, and the file of its trust root. */
export interface SigstoreTarget {
  fulcio: URL;
  rekor: URL;
  tsa: URL | null;
  root: string | null;
}

/** What the command line says of them. */
export interface SigstoreOptions {
  fulcio?: string;
  rekor?: string;
  tsa?: string;
  root?: string;
}

/** The instance that the Sigstore project runs for everybody. */
export const publicSigstore = { fulcio: 'https://fulcio.sigstore.dev', rekor: 'https://rekor.sigstore.dev' };

/** The instance to sign with: each value from the command line, else config.yaml, else the public one. Throws usage errors. */
export function sigstoreOf(options: SigstoreOptions, { sigstore }: CtlSettings): SigstoreTarget {
  const { fulcio = sigstore.fulcio, rekor = sigstore.rekor, tsa = sigstore.tsa, root = sigstore.root } = options;
  if ((fulcio === null) !== (rekor === null))
    throw usageError(
      'SIGSTORE_INVALID',
      'name --fulcio and --rekor, or neither',
      'with neither, the public instance is asked, whose log shows everybody who signs',
    );
  return {
    fulcio: serviceUrlOf(fulcio ?? publicSigstore.fulcio, 'Fulcio (--fulcio)'),
    rekor: serviceUrlOf(rekor ?? publicSigstore.rekor, 'Rekor (--rekor)'),
    tsa: tsa === null ? null : serviceUrlOf(tsa, 'the timestamp authority (--tsa)'),
    root,
  };
}
