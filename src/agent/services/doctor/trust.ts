import { inapplicableCheck, type Check } from '../../../doctor/diagnosis.ts';
import { keyName, readPublicKey } from '../../../signatures/publicKey.ts';
import { readTrust } from '../../../signatures/readTrust.ts';
import { rootEnds } from '../../../signatures/rootEnds.ts';
import { checkTrust } from '../../rules/doctor/trustCheck.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Checks the keys and the trust root by which signatures of bundles are verified. */
export function examineTrust({ settings, configPath, host }: DoctorContext): Check {
  const { bundles } = settings.trust;
  if (bundles === null) return inapplicableCheck('trust', 'bundles need no signature here');
  const { trust, problems } = readTrust(bundles);
  const state = 'known' in host.state ? host.state.known : null;
  return checkTrust({
    ...{ settings: bundles, configPath, problems, now: host.now },
    keySigners: new Map((bundles.keys ?? []).flatMap((path) => signerOf(path))),
    rootEnds: trust.root === null ? [] : rootEnds(trust.root),
    appliedSigners: state === null || state.applied_sha === null ? null : (state.applied_signers ?? []),
  });
}

function signerOf(path: string): [string, string][] {
  const [pem] = readTrust({ keys: [path] }).trust.keys;
  const key = pem === undefined ? 'missing' : readPublicKey(pem);
  return typeof key === 'string' ? [] : [[path, keyName(key.hint)]];
}
