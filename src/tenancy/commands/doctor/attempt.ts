import type { Fact } from '../../../platform/fact.ts';
import { ConfigInvalid } from '../../../config/configInvalid.ts';
import { TransportError } from '../../../platform/http/transportError.ts';
import { SignInError } from '../../adapters/oidc/identityProvider.ts';
import { PeerError } from '../../adapters/peerError.ts';
import { KeyError } from '../../credentials/keyError.ts';
import { TlsFilesError } from '../../http/tlsFiles.ts';
import { CommandError } from '../commandError.ts';

const told = [TransportError, CommandError, ConfigInvalid, KeyError, PeerError, SignInError, TlsFilesError];

/** What a piece of work came to; an error that an operator can cure is a fact that is not known. */
export async function attempt<T>(work: () => T | Promise<T>): Promise<Fact<T>> {
  try {
    return { known: await work() };
  } catch (error) {
    if (error instanceof Error && told.some((kind) => error instanceof kind)) return { unknown: error.message };
    throw error;
  }
}
