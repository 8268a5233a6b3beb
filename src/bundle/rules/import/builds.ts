import { printable } from '../../../protocol/printable.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import { effectiveOf, ownMapOf, serviceNamesOf, servicePartsOf, servicesOf } from './services.ts';
import { newScalar, removeKey, setValue, textAt } from './yamlNodes.ts';

/** Gives services the images that were chosen, and takes `build` out where there is an image. */
export function replaceBuilds(work: ImportWork): void {
  const { documents, choices } = work;
  for (const [name, image] of choices.images) {
    const service = documents.flatMap(servicesOf).findLast((one) => one.name === name);
    if (service === undefined) continue;
    setValue(ownMapOf(service), 'image', newScalar(image.replaceAll('$', '$$$$')));
    tellChange(work, { owner: `service ${name}`, key: 'image' }, [printable(image), 'it was chosen']);
  }
  const built = new Set(serviceNamesOf(documents).filter((name) => effectiveOf(documents, name, 'build') !== null));
  const imageOf = (name: string) => {
    const found = effectiveOf(documents, name, 'image');
    return found === null ? null : textAt(found.value, found.document);
  };
  const lacking = [...built].filter((name) => imageOf(name) === null);
  for (const name of lacking)
    leaveUndecided(work, { owner: `service ${name}`, key: 'build' }, [
      'a host runs images, it builds none',
      `--image ${name}=REFERENCE of what its build pushes`,
    ]);
  for (const { map, names } of servicePartsOf(documents)) {
    if (names.some((name) => lacking.includes(name))) continue;
    if (!removeKey(map, 'build')) continue;
    removeKey(map, 'develop');
    for (const name of names)
      tellChange(work, { owner: `service ${name}`, key: 'build' }, [
        `is left out; push the image ${printable(imageOf(name) ?? '')}`,
        'a host runs images, it builds none',
      ]);
  }
}
