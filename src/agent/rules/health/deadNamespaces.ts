import type { ServiceProblem } from '../../../../machines/types.ts';
import { healthStatusOf, type InspectedContainer, type SharedNamespace } from './health.ts';

/** The containers whose namespaces others share, by the id or name that those hold; null for one that is gone. */
export type NamespaceOwners = ReadonlyMap<string, InspectedContainer | null>;

/**
 * The containers that keep a namespace of a container which is gone or was started after them: a network namespace of that
 * kind has only its loopback interface. `ownerOf` names the service that owns it.
 */
export function deadNamespaces(
  members: readonly InspectedContainer[],
  owners: NamespaceOwners,
  ownerOf: (service: string, part: SharedNamespace['part']) => string | undefined,
): ServiceProblem[] {
  return members.flatMap((member) =>
    (member.shares ?? []).flatMap(({ part, owner: reference }): ServiceProblem[] => {
      const owner = owners.get(reference);
      const cure = owner === undefined ? null : cureOf(member, owner);
      if (cure === null) return [];
      const name = ownerOf(member.service, part) ?? owner?.service ?? reference.slice(0, 12);
      const detail = `keeps the dead ${part} namespace of ${name}`;
      return [{ service: member.service, detail, cure, containers: [member.id], isFailure: true }];
    }),
  );
}

/** One that has ended well, and one whose owner does not run, are left; that owner is a problem by itself. */
function cureOf(member: InspectedContainer, owner: InspectedContainer | null): 'restart' | 'recreate' | null {
  if (owner === null) return healthStatusOf(member, false) === 'healthy' && !isRunning(member) ? null : 'recreate';
  return isRunning(member) && owner.state === 'running' && owner.startedMs > member.startedMs ? 'restart' : null;
}

function isRunning({ state }: InspectedContainer): boolean {
  return state === 'running' || state === 'restarting';
}
