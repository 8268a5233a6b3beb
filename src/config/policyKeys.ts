import { denials } from '../protocol/hostPolicy.ts';
import { optional, type ConfigKey } from './keyTable.ts';
import { permits } from './permitsType.ts';
import { listOfWords, oneOf } from './valueTypes.ts';

/** The keys of a host's policy, in config.yaml and in the policy files of `deployctl` (spec §6, §12). */
export const policyKeys = {
  'policy.permit': optional(
    permits,
    {},
    'Privileges that bundles may have without `allow_privileged`: a mapping of lists.',
  ),
  'policy.deny': optional(
    listOfWords(...denials),
    [],
    'Privileges and acts that no flag of a bundle and no request can have; the entries of `policy.permit` stay permitted.',
  ),
  'policy.images': optional(
    oneOf('any', 'digest'),
    'any',
    '`digest`: run only images that are pinned by their sha256.',
  ),
} as const satisfies Record<string, ConfigKey>;
