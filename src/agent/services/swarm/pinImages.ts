import { failedFault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/types.ts';
import { imageDigest, RegistryError } from '../../../registry/repository.ts';
import { registryOf } from '../../../registry/imageReference.rules.ts';
import { registryLoginsOf } from '../apply/registryLogins.ts';
import { isSecretFree } from '../apply/secretFree.ts';
import type { SwarmDependencies } from './stackFacts.ts';

/**
 * Asks registries for the digest of each image of a bundle, so that every node gets the same one, now and after a revert.
 * The nodes pull by themselves. Throws `PULL_FAILED`.
 */
export async function pinImages(context: SwarmDependencies, bundle: Bundle, signal: AbortSignal): Promise<void> {
  const { deps, digests } = context;
  const access = deps.registries.open(registryLoginsOf(deps, bundle), signal);
  deps.vault.noteUntrackedSecrets(); // tokens of registries
  try {
    for (const [service, { image }] of deps.tick.serviceDefinitions?.services ?? []) {
      const digest = await imageDigest(image, access).catch((error: unknown) => {
        if (!(error instanceof RegistryError)) throw error;
        const why = isSecretFree(deps, registryOf(image)) ? error.message : 'its registry cannot be asked';
        throw failedFault('PULL_FAILED', `the image of ${service} has no digest: ${why}`);
      });
      digests.set(image, digest);
    }
  } finally {
    access.close();
  }
}
