import { parseComposeFile } from '../compose/document/composeFile.ts';
import { textOf } from '../compose/document/composeNode.ts';
import { effectiveValue, serviceLayers } from '../compose/document/serviceLayers.ts';
import { knownVariables, withKnownVariables } from '../plan/knownVariables.ts';
import type { ImportedBundle } from './importProject.ts';

/**
 * The image of each service of an imported bundle, with the values of the manifest's variables. Services without an image are left
 * out, and those whose image needs a value that the bundle lacks.
 */
export function importedImages({
  manifest,
  composeFiles,
}: Pick<ImportedBundle, 'manifest' | 'composeFiles'>): Map<string, string> {
  const parsed = [...composeFiles].map(([path, text]) => parseComposeFile(path, text));
  const files = parsed.flatMap((each) => ('file' in each ? [each.file] : []));
  const variables = manifest.variables ?? {};
  const known = knownVariables({ sha: null, version: manifest.version, variables });
  const images = [...serviceLayers(files)].flatMap(([name, layers]) => {
    const image = textOf(effectiveValue(layers, 'image'));
    return image === null ? [] : [[name, withKnownVariables(image, known)] as const];
  });
  return new Map(images.filter(([, image]) => !image.includes('$')));
}
