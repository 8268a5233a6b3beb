import { randomUUID } from 'node:crypto';
import type { Fault } from '../../../machines/fault.ts';
import type { ReportedContainer, Sha } from '../../../machines/types.ts';
import { monotonicMs, wallClockOffsetMs } from '../../core/clock.ts';
import type { Report } from '../../api/report.rules.ts';
import type { Lock } from '../adapters/state/lock.ts';
import type { Journal } from '../journal/journal.ts';
import type { Verification } from '../../signatures/judgement.rules.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import type { GrantedPrivileges } from '../rules/createdContainers/grantedPrivileges.ts';
import type { StandingHold } from '../rules/schedule/hold.ts';
import type { ReleaseStart } from '../rules/health/containerUptime.ts';
import type { InspectedContainer } from '../rules/health/health.ts';
import type { ReleaseWait } from '../rules/release/releaseWait.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import type { ServiceFingerprint } from '../rules/release/oneShots.ts';
import type { ServiceEdges } from '../rules/release/serviceEdges.ts';
import type { VerifiedImage } from '../rules/release/releaseRecord.ts';
import type { Progress } from '../rules/status/progress.ts';
import type { TokenStatus } from '../rules/token/tokenStatus.ts';

/** Facts of one running tick that its services share. */
export interface TickScope {
  readonly id: string;
  readonly startedAt: Date;
  readonly journal: Journal;
  /** Milliseconds by service name. */
  readonly durationsMs: Record<string, number>;
  lock: Lock | null;
  /** The hold of an operator that stood when the tick began; undefined until it is read, which may fail: one may stand then. */
  hold: StandingHold | null | undefined;
  /** True once the engine has answered; after that, an unreachable engine interrupts the tick. */
  engineAnswered: boolean;
  /** Why the engine, or its swarm, could not be observed. */
  engineFault: Fault | null;
  /** The containers that the last wait found healthy, until compose changes them; without health logs, which may hold secrets. */
  healthyContainers: InspectedContainer[] | null;
  /** All containers of the project as they were looked at last; null before. */
  containers: readonly ReportedContainer[] | null;
  /** Why the grant was refused; the stored token is used instead. */
  grantRefusal: Fault | null;
  /** Status of the token that the grant was exchanged for. */
  candidateStatus: TokenStatus | null;
  /** Privileges that the validated model of the bundle grants to its services. */
  grantedPrivileges: GrantedPrivileges | null;
  /** Service definitions of the release that is being applied. */
  serviceDefinitions: { sha: Sha; services: ReadonlyMap<string, ServiceFingerprint> } | null;
  /** The services of the release that is being applied, as its rendered model says. */
  writtenServices: { sha: Sha; services: readonly WrittenService[] } | null;
  /** Tags that this tick pulled, and the ids of the images that they name since then. */
  pulledTags: ReadonlyMap<string, string>;
  /** How long the release that was started last may take. */
  releaseWait: ReleaseWait | null;
  /** How the services of the release that is being applied hang on each other. */
  serviceEdges: { sha: Sha; services: ReadonlyMap<string, ServiceEdges> } | null;
  /** When compose last started a release; until then, the start of the tick. */
  lastComposeUp: ReleaseStart;
  /** Heartbeat report of this tick; unlike other reports it is never queued. */
  heartbeat: Report | null;
  /** True when this check-in was overdue: the host had been offline. */
  wasOverdue: boolean;
  /** Lines that its report and status contain besides those of the outcome. */
  readonly remarks: string[];
  /** Genuine signatures of the bundle that is being applied; null where the host trusts no signatures. */
  signatures: Verification | null;
  /** Who signed the bundle that is being applied. */
  signers: readonly string[];
  /** The images of the bundle that is being applied, where the host trusts signatures of images. */
  images: readonly VerifiedImage[];
  /** Contents of the bundle that is being applied, once it is unpacked. */
  bundleContents: BundleContents | null;
  /** True where this host has applied the content of that bundle before. */
  isAppliedContent: boolean;
  /** Progress of the running service; null when the service does not measure it. */
  readProgress: (() => Progress | Promise<Progress>) | null;
}

/** A new scope with a new tick id. */
export function startTick(journal: Journal): TickScope {
  const id = randomUUID();
  return {
    id,
    startedAt: new Date(),
    journal: journal.forTick(id),
    durationsMs: {},
    lock: null,
    hold: undefined,
    engineAnswered: false,
    engineFault: null,
    healthyContainers: null,
    containers: null,
    grantRefusal: null,
    candidateStatus: null,
    grantedPrivileges: null,
    serviceDefinitions: null,
    writtenServices: null,
    pulledTags: new Map(),
    releaseWait: null,
    serviceEdges: null,
    lastComposeUp: composeUpNow([]),
    heartbeat: null,
    wasOverdue: false,
    remarks: [],
    signatures: null,
    signers: [],
    images: [],
    bundleContents: null,
    isAppliedContent: false,
    readProgress: null,
  };
}

/** Records the current time, and the last start of each existing container, as the start of a release. */
export function composeUpNow(before: readonly { id: string; startedMs: number }[]): ReleaseStart {
  return {
    atMs: monotonicMs(),
    clockOffsetMs: wallClockOffsetMs(),
    starts: new Map(before.map(({ id, startedMs }) => [id, startedMs])),
  };
}
