import type { PermitKey } from '../../../../protocol/hostPolicy.ts';
import { printable } from '../../../../protocol/printable.ts';
import { itemsOf, textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { serviceLayers } from '../document/serviceLayers.ts';
import { atKey } from './validators.ts';
import { refusePower, type Finding, type PolicyFacts } from './finding.ts';
import type { Power } from './power.ts';

/** A service that refers to another one, and the powers of that one which it then has too. */
interface Reference {
  readonly service: string;
  readonly to: string;
  readonly brings: readonly PermitKey[];
  readonly key: string;
  readonly value: ComposeNode;
  readonly file: string;
}

/** Powers that are permitted by the name of a service. */
const byService: readonly PermitKey[] = [
  ...(['engine_socket', 'host_network', 'gpus', 'host_pid', 'host_ipc', 'privileged'] as const),
];

/** Keys by which a service refers to another; below /proc of a shared process namespace are the files of the other. */
const referringKeys: Readonly<Record<string, readonly PermitKey[]>> = {
  extends: byService,
  network_mode: ['host_network'],
  pid: ['host_pid', 'engine_socket'],
  ipc: ['host_ipc'],
  volumes_from: ['engine_socket'],
};

/**
 * The powers that services have because they refer to a service that is permitted to have them. `found` are the findings
 * of the same files, `path` is '' for a rendered model.
 */
export function sharedPowers(
  files: readonly { path: string; root: ComposeNode }[],
  found: readonly Finding[],
  facts: PolicyFacts,
): Finding[] {
  const { permit } = facts.host.policy;
  const isPermitted = (power: Power) =>
    byService.includes(power.permit) && permit[power.permit]?.includes(power.entry) === true;
  const held = new Set(found.flatMap(({ power }) => (power && isPermitted(power) ? [keyOf(power)] : [])));
  const references = held.size === 0 ? [] : files.flatMap(referencesOf);
  const shared: Finding[] = [];
  for (let before = -1; before !== held.size;) {
    before = held.size;
    for (const reference of references) {
      for (const power of powersBy(reference).filter((each) => held.has(keyOf({ ...each, entry: reference.to })))) {
        if (held.has(keyOf(power))) continue;
        held.add(keyOf(power));
        shared.push(...findingOf(reference, power, facts));
      }
    }
  }
  return shared;
}

function powersBy({ service, brings }: Reference): Power[] {
  return brings.map((permit) => ({ permit, entry: service }));
}

function keyOf({ permit, entry }: Power): string {
  return `${permit} ${entry}`;
}

function findingOf({ service, to, key, value, file }: Reference, power: Power, facts: PolicyFacts): Finding[] {
  const location = atKey({ facts, file, owner: `service ${printable(service)}`, keyPath: '' }, key);
  const message = `${printable(textOf(value) ?? to)} brings ${power.permit}`;
  return refusePower(value, location, { ...power, message });
}

function referencesOf({ path, root }: { path: string; root: ComposeNode }): Reference[] {
  return [...serviceLayers([{ root }])].flatMap(([service, layers]) =>
    Object.entries(referringKeys).flatMap(([key, brings]) =>
      layers.flatMap((layer) =>
        itemsOf(valueAt(layer, key)).flatMap((value) => {
          const to = referredService(key, value);
          return to === null ? [] : [{ service, to, brings, key, value, file: path }];
        }),
      ),
    ),
  );
}

function referredService(key: string, value: ComposeNode): string | null {
  const written = textOf(valueAt(value, 'service') ?? value);
  if (written === null || key === 'extends') return written;
  if (key === 'volumes_from') return written.split(':', 1)[0] ?? null;
  return /^service:(.*)$/s.exec(written)?.[1] ?? null;
}
