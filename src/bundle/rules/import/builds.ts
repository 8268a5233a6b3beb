import { printable } from '../../../protocol/printable.ts';
import { leaveUndecided, tellChange, type ImportWork, type Place } from './importWork.ts';
import { effectiveOf, ownMapOf, serviceNamesOf, servicePartsOf, servicesOf } from './services.ts';
import { newScalar, removeKey, setValue, textAt } from './yamlNodes.ts';

/** Gives services the images that were chosen or pinned, and takes `build` out where there is an image. */
export function replaceBuilds(work: ImportWork): void {
  const { documents, choices } = work;
  for (const [name, image] of choices.images) setImage(work, { name, image, why: 'it was chosen' });
  for (const [name, pin] of choices.pins ?? [])
    if ('reference' in pin) setImage(work, { name, image: pin.reference, why: 'that is its digest now' });
    else
      leaveUndecided(work, imageOf(name), [`it is not pinned: ${pin.fault}`, 'write its digest into the compose file']);
  const built = new Set(serviceNamesOf(documents).filter((name) => effectiveOf(documents, name, 'build') !== null));
  const imageTextOf = (name: string) => {
    const found = effectiveOf(documents, name, 'image');
    return found === null ? null : textAt(found.value, found.document);
  };
  const lacking = [...built].filter((name) => imageTextOf(name) === null);
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
        `is left out; push the image ${printable(imageTextOf(name) ?? '')}`,
        'a host runs images, it builds none',
      ]);
  }
}

function setImage(work: ImportWork, { name, image, why }: { name: string; image: string; why: string }): void {
  const service = work.documents.flatMap(servicesOf).findLast((one) => one.name === name);
  if (service === undefined) return;
  setValue(ownMapOf(service), 'image', newScalar(image.replaceAll('$', '$$$$')));
  tellChange(work, imageOf(name), [printable(image), why]);
}

/** Where reports name the image of a service. */
function imageOf(name: string): Place {
  return { owner: `service ${name}`, key: 'image' };
}
