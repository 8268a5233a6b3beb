import { loginFor, type LoginScope, parseImageReference } from '../../../registry/imageReference.rules.ts';
import type { ServiceImage } from '../../../bundle/plan/images.rules.ts';

/** Services whose images are pulled by one call of compose, and the logins for it. */
export interface PullRound<Login> {
  services: string[];
  logins: Login[];
}

/**
 * Divides services into rounds, since compose has one login for each registry: a registry has one login in a round, or none
 * for repositories outside the paths of its logins. Without a second login for a registry there is one round.
 */
export function pullRoundsOf<Login extends LoginScope>(
  services: readonly Pick<ServiceImage, 'service' | 'image'>[],
  logins: readonly Login[],
): PullRound<Login>[] {
  const rounds: PullRound<Login>[] = [];
  const perRegistry = new Map<string, (Login | null)[]>();
  for (const { service, image } of services) {
    const reference = parseImageReference(image);
    const login = loginFor(logins, reference);
    const known = perRegistry.get(reference.registry) ?? [];
    perRegistry.set(reference.registry, known);
    if (!known.includes(login)) known.push(login);
    const round = (rounds[known.indexOf(login)] ??= { services: [], logins: [] });
    round.services.push(service);
    if (login !== null && !round.logins.includes(login)) round.logins.push(login);
  }
  return rounds;
}
