import type { ServiceProblem } from '../../../../machines/types.ts';

/** A service that is missing or not healthy. */
export interface ServiceTrouble {
  service: string;
  /** `missing`, `exited(137)`, `unhealthy` … */
  detail: string;
}

/** What an observation finds, one entry for each service and detail. */
export function troublesOf(problems: readonly ServiceProblem[]): ServiceTrouble[] {
  const troubles = problems.map(({ service, detail }) => ({ service, detail }));
  return troubles.filter(
    (trouble, index) =>
      troubles.findIndex(({ service, detail }) => service === trouble.service && detail === trouble.detail) === index,
  );
}

/** `db=exited(137), web=unhealthy`. */
export function formatTroubles(troubles: readonly ServiceTrouble[]): string {
  return troubles.map(({ service, detail }) => `${service}=${detail}`).join(', ');
}
