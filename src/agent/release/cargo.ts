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

/** The parts of the cargo that only the services of an apply read. */
export interface AgentCargo extends CargoParts {
  signatures: Verification | null;
  contents: BundleContents;
  project: ComposeProject;
  model: RenderedModel;
  images: { verified: readonly VerifiedImage[]; services: ServiceFingerprints };
  release: { services: ServiceFingerprints };
  started: StartedRelease;
}

/** A release that was started, and its time limit to become healthy; null if only the configuration sets the limit. */
export interface StartedRelease {
  wait: ReleaseWait | null;
}

/** The parts of the rendered model that are kept; the model itself contains secret values. */
export interface RenderedModel {
  written: readonly (Omit<WrittenService, 'image'> & { image: Concealed | null })[];
  /** Privileges that it grants to its services. */
  granted: GrantedPrivileges;
  /** The dependencies between its services. */
  edges: ReadonlyMap<string, ServiceEdges>;
  services: ServiceFingerprints;
}

/** These parts of the outputs of the states of an apply. */
export type Carried<TParts extends keyof Cargo> = Pick<Cargo<AgentCargo>, TParts>;

/** An apply that failed after the promotion. */
export type FailedApply = FailedAttempt<AgentCargo>;
