import { nodeFromJson } from '../../../bundle/compose/composeNode.rules.ts';
import { serviceLayers } from '../../../bundle/compose/services.rules.ts';
import {
  healthDemandOf,
  type Prerequisite,
  type WrittenService,
  writtenServicesOf,
} from '../../../bundle/plan/writtenServices.rules.ts';
import type { ServiceRole } from '../health/health.ts';

/** What a release keeps of a service, so that it can be judged without the model. */
export interface ServiceFacts extends ServiceRole {
  /** Seconds until it is healthy at the latest, by the healthcheck of the file; 0 without one there. */
  demand_s: number;
  /** The services that it waits for. */
  after: readonly Prerequisite[];
}

/** The services of a rendered model. */
export function writtenServicesIn(model: unknown): WrittenService[] {
  return writtenServicesOf(serviceLayers([{ root: nodeFromJson(model) }]));
}

/** What the record of a release keeps of a service. */
export function serviceFactsOf({ kind, jobReason, healthcheck, after }: WrittenService): ServiceFacts {
  const demand_s = healthDemandOf(healthcheck).seconds;
  return { kind, ...(jobReason !== null && { job_by: jobReason }), demand_s, after };
}
