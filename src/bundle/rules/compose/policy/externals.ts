import { printable } from '../../../../protocol/printable.ts';
import { textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { ownName } from './engineNames.ts';
import { refuseHostNetwork, refusePower, refusePrivilege, type Validator, type ValueLocation } from './finding.ts';
import { isFalse, mappingOf, oneOfKinds, privilegedUnlessFalse, text, type KeyTable } from './validators.ts';

/** The engine's name of a network or volume from outside the project, which older files write below `external`; else null. */
export function nameOutside(value: ComposeNode, { owner }: ValueLocation): string | null {
  const external = valueAt(value, 'external');
  if (external === undefined || isFalse.test(textOf(external) ?? '')) return null;
  const name = textOf(valueAt(external, 'name') ?? valueAt(value, 'name'));
  return name ?? owner.slice(owner.indexOf(' ') + 1);
}

/** A network or volume; one from outside the project is a power that is permitted by its name on the engine. */
export function ownedOrExternal(permit: 'networks' | 'volumes', keys: KeyTable): Validator {
  const owned = mappingOf({ ...keys, external: privilegedUnlessFalse, name: ownName(permit) });
  const keysOfForeign = (name: string) => mappingOf({ ...keys, external: foreign(permit, name), name: text });
  return oneOfKinds({
    map: (value, location) => {
      const name = nameOutside(value, location);
      return (name === null ? owned : keysOfForeign(name))(value, location);
    },
  });
}

function foreign(permit: 'networks' | 'volumes', name: string): Validator {
  return (value, location) => {
    const message = printable(textOf(value) ?? 'true');
    if (name.includes('$')) return refusePrivilege(value, location, `${message}, its name is decided by a variable`);
    if (permit === 'networks' && name === 'host') return refuseHostNetwork(value, location, message);
    return refusePower(value, location, { permit, entry: name, message });
  };
}
