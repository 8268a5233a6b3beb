import type { ImportChoices } from '../../bundle/rules/import/importReport.ts';
import { parseImageReference } from '../../platform/text/imageReference.ts';
import { imageDigest } from '../../registry/imageDigest.ts';
import { RegistryError } from '../../registry/registryError.ts';
import type { RegistryAccess } from '../../registry/repository.ts';

type Pin = { reference: string } | { fault: string };

/** Asks registries for the digest of each service's image, once for the same one; what is pinned already is left as it is. */
export async function pinImages(
  images: ReadonlyMap<string, string>,
  access: RegistryAccess,
): Promise<NonNullable<ImportChoices['pins']>> {
  const open = [...images].filter(([, image]) => parseImageReference(image).digest === null);
  const references = [...new Set(open.map(([, image]) => image))];
  const pins = new Map<string, Pin>();
  for (const reference of references) pins.set(reference, await pinOf(reference, access));
  return new Map(open.flatMap(([name, image]) => (pins.has(image) ? [[name, pins.get(image) as Pin] as const] : [])));
}

async function pinOf(reference: string, access: RegistryAccess): Promise<Pin> {
  try {
    return { reference: `${reference}@${await imageDigest(reference, access)}` };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { fault: error.message };
  }
}
