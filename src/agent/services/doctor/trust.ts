import { type Check, inapplicableCheck } from '../../../core/doctor.rules.ts';
import type { TrustSettings } from '../../../api/trust.rules.ts';
import { keyName, readPublicKey, rootEnds } from '../../../signatures/trust.ts';
import { readTrust } from '../../../signatures/readTrust.ts';
import { type Signed, trustsOf } from '../../rules/bundle/trustSummary.ts';
import { checkTrust, type TrustCheckFacts } from '../../rules/doctor/trustCheck.ts';
import type { State } from '../../rules/state/state.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Checks the keys and the trust roots by which signatures of bundles and of images are verified. */
export function examineTrust(context: DoctorContext): Check {
  const trusts = trustsOf(context.settings.trust);
  if (trusts.length === 0) return inapplicableCheck('trust', 'bundles and images need no signature here');
  return checkTrust(trusts.map(([signed, settings]) => factsOf(signed, settings, context)));
}

function factsOf(signed: Signed, settings: TrustSettings, { configPath, host }: DoctorContext): TrustCheckFacts {
  const { trust, problems } = readTrust(settings);
  const state = 'known' in host.state ? host.state.known : null;
  return {
    ...{ signed, settings, configPath, problems, now: host.now },
    keySigners: new Map((settings.keys ?? []).flatMap((path) => signerOf(path))),
    rootEnds: trust.root === null ? [] : rootEnds(trust.root),
    appliedSigners: state === null || state.applied_sha === null ? null : appliedSigners(signed, state),
  };
}

function appliedSigners(signed: Signed, { applied_signers = [], applied_images = [] }: State): readonly string[] {
  return signed === 'bundles' ? applied_signers : applied_images.flatMap(({ signers }) => signers);
}

function signerOf(path: string): [string, string][] {
  const [pem] = readTrust({ keys: [path] }).trust.keys;
  const key = pem === undefined ? 'missing' : readPublicKey(pem);
  return typeof key === 'string' ? [] : [[path, keyName(key.hint)]];
}
