import { guard, keyTableOf, optional, required, type SettingsOf } from '../../core/config/keyTable.ts';
import { policyKeys, timeWindows, trustBy } from '../../core/config/sharedKeys.ts';
import { absolutePath, anyPath, nullable, serviceUrl } from '../../core/config/valueTypes.ts';

/** Every key of deployctl's config.yaml. */
export const ctlTable = keyTableOf({
  url: optional(nullable(serviceUrl), null, 'Address of the tenancy service.'),
  token_file: optional(nullable(absolutePath), null, 'File of your token; mode 0600.'),
  ca_file: guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the service; default: the authorities of the system.',
    ),
  ),
  'sigstore.fulcio': optional(nullable(serviceUrl), null, 'Certificate authority of your own Sigstore instance.'),
  'sigstore.rekor': optional(nullable(serviceUrl), null, 'Its log of signatures.'),
  'sigstore.tsa': optional(nullable(serviceUrl), null, 'Address of a timestamp authority (RFC 3161), with its path.'),
  'sigstore.root': guard(optional(nullable(absolutePath), null, 'Trust root by which new signatures are verified.')),
});

/** config.yaml of deployctl; null where command line and environment decide. */
export type CtlSettings = SettingsOf<typeof ctlTable.keys>;

/** The keys of a policy file. */
export const policyTable = keyTableOf(policyKeys);

const { schema, allowed } = trustBy(anyPath);

/** The key of a trust file, which is the same as in config.yaml of a host; its paths may be relative to the file. */
export const trustTable = keyTableOf({
  'trust.bundles': required({ schema, allowed }, 'Signers that hosts require for bundles.'),
  ...policyKeys,
  'apply.windows': optional(timeWindows, [], 'Maintenance windows of hosts.'),
});
