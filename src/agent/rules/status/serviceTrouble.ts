import type { ServiceProblem } from '../../../../machines/types.ts';

/** A service that is missing or not healthy, and how: `missing`, `exited(137)`, `unhealthy` … */
export type ServiceTrouble = Pick<ServiceProblem, 'service' | 'detail'>;

/** What an observation finds, one entry for each service and detail. */
export function troublesOf(problems: readonly ServiceProblem[]): ServiceTrouble[] {
  const troubles = problems.map(({ service, detail }) => ({ service, detail }));
  return troubles.filter(
    (trouble, index) =>
      troubles.findIndex(({ service, detail }) => service === trouble.service && detail === trouble.detail) === index,
  );
}
