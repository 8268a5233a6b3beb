import type { Permits } from '../../../protocol/hostPolicy.ts';
import { askedPowers } from '../compose/policy/composePolicy.ts';
import { anyHost } from '../compose/policy/policyHost.ts';
import { noHost, planOf, type BundleFacts, type Plan } from '../plan/plan.ts';
import { permitsOf } from './permits.ts';

/** What a host would say of an imported bundle. */
export interface ImportVerdict {
  /** What a host has to permit. */
  permits: Partial<Permits>;
  /** The plan of a host that does. */
  plan: Plan;
}

/** Judges a bundle as a host does that permits what it asks for. */
export function verdictOf(facts: BundleFacts): ImportVerdict {
  const { manifest, files, releaseFiles, texts } = facts;
  const context = { manifest, releaseFiles, texts, projectName: `deployd-${manifest.env}` };
  const permits = permitsOf(askedPowers(files, context));
  const policyHost = { ...anyHost, policy: { ...anyHost.policy, permit: permits } };
  return { permits, plan: planOf(facts, { ...noHost, policyHost }) };
}
