import { denials } from '../protocol/hostPolicy.ts';
import { optional, type ConfigKey } from './keyTable.ts';
import { permits } from './permitsType.ts';
import { listOfWords, oneOf } from './valueTypes.ts';

/** The keys of a host's policy, in config.yaml and in the policy files of `deployctl` (spec §6, §12). */
export const policyKeys = {
  'policy.permit': optional(
    permits,
    {},
    'What bundles may have here beyond the ordinary, without `allow_privileged`: a mapping of lists.',
  ),
  'policy.deny': optional(
    listOfWords(...denials),
    [],
    'What no flag of a bundle and no request gets here; what `policy.permit` names stays permitted.',
  ),
  'policy.images': optional(
    oneOf('any', 'digest'),
    'any',
    '`digest`: only images that are pinned by their sha256 run here.',
  ),
} as const satisfies Record<string, ConfigKey>;
