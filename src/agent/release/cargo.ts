import type { Cargo, CargoParts, FailedAttempt } from '../../../machines/services.ts';
import type { Concealed } from '../../../machines/types.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import type { ComposeProject } from '../../bundle/compose/composeProject.rules.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import type { Verification } from '../../signatures/judgement.rules.ts';
import type { GrantedPrivileges } from './grantedPrivileges.rules.ts';
import type { ReleaseWait } from './record.rules.ts';
import type { ServiceEdges, ServiceFingerprints } from './services.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';

/** The parts of the cargo that only the services of an apply look into. */
export interface AgentCargo extends CargoParts {
  signatures: Verification | null;
  contents: BundleContents;
  project: ComposeProject;
  model: RenderedModel;
  images: { verified: readonly VerifiedImage[]; services: ServiceFingerprints };
  release: { services: ServiceFingerprints };
  started: StartedRelease;
}

/** A release that was started, and how long it may take until it is healthy; null where the configuration alone says so. */
export interface StartedRelease {
  wait: ReleaseWait | null;
}

/** What is kept of the rendered model, which contains values of secrets. */
export interface RenderedModel {
  written: readonly (Omit<WrittenService, 'image'> & { image: Concealed | null })[];
  /** Privileges that it grants to its services. */
  granted: GrantedPrivileges;
  /** How its services hang on each other. */
  edges: ReadonlyMap<string, ServiceEdges>;
  services: ServiceFingerprints;
}

/** These parts of what the states of an apply have made. */
export type Carried<TParts extends keyof Cargo> = Pick<Cargo<AgentCargo>, TParts>;

/** An apply that failed after the promotion. */
export type FailedApply = FailedAttempt<AgentCargo>;
