import type { RefusedFault } from '../../../../machines/refusals.ts';
import { type ComposeFile, itemsOf, textOf, valueAt, valuesAt } from '../compose/document/composeNode.ts';
import type { ImageAccounts } from './bundleToStart.ts';
import type { ComparableRelease } from './changes.ts';
import { type EngineImages, plannedPulls } from './pullPlan.ts';
import { placeOf, type ReadService } from './writtenText.ts';
import { printable } from '../../../protocol/printable.ts';

/** The images of services with a `user` that is a name, where an apply pulls no other image in their place. */
export function imagesWithNamedUsers(
  bundle: ComparableRelease,
  services: readonly ReadService[],
  images: EngineImages,
): string[] {
  const staying = plannedPulls(bundle, images).filter(({ pull }) => pull === 'local');
  const named = services.filter(({ text }) => namesOf(text('user')).some((each) => each.name !== ''));
  return staying.flatMap(({ image, services: users }) =>
    named.some(({ name }) => users.includes(name)) ? [image] : [],
  );
}

/** Users and groups that an image lacks, so that the engine starts no container of it. */
export function namedUserFaults(
  { files, services }: { files: readonly ComposeFile[]; services: readonly ReadService[] },
  accounts: ReadonlyMap<string, ImageAccounts>,
): RefusedFault[] {
  return services.filter(readsUsersOfImage).flatMap(({ name: service, node, text }) => {
    const image = text('image');
    const known = accounts.get(image);
    if (known === undefined) return [];
    return namesOf(text('user'))
      .filter(({ kind, name }) => name !== '' && !known[kind].has(name))
      .map(({ kind, name }) => ({
        text: `service ${printable(service)}: ${kind === 'users' ? 'user' : 'group'} ${printable(name)} is not in its image ${printable(image)}${placeOf(files, node('user'))}`,
        cure: 'write its number, or one that the image has',
      }));
  });
}

/** The user and the group of a key `user`; '' for a number. */
function namesOf(user: string): { kind: 'users' | 'groups'; name: string }[] {
  const [name = '', group = ''] = user.split(':');
  const nameIn = (text: string) => (/^\d*$/.test(text) ? '' : text);
  return [
    { kind: 'users', name: nameIn(name) },
    { kind: 'groups', name: nameIn(group) },
  ];
}

/** False where something is mounted over the files of users, which some engines read then. */
function readsUsersOfImage({ layers }: ReadService): boolean {
  const mounts = ['volumes', 'configs', 'secrets', 'tmpfs'].flatMap((key) => valuesAt(layers, key).flatMap(itemsOf));
  return !mounts.some((mount) => {
    const text = textOf(mount);
    const target = text === null ? textOf(valueAt(mount, 'target')) : (text.split(':')[1] ?? text);
    return /^\/etc(\/(passwd|group))?\/?$/.test(target ?? '');
  });
}
