import { keyTableOf, optional } from '../../core/config/keyTable.ts';
import { absolutePath, nullable, serviceUrl } from '../../core/config/valueTypes.ts';

/** config.yaml of deployctl; null where command line and environment decide. */
export interface CtlSettings {
  readonly url: string | null;
  readonly token_file: string | null;
  readonly ca_file: string | null;
  /** The Sigstore instance to sign with; its public one by default. */
  readonly sigstore: {
    readonly fulcio: string | null;
    readonly rekor: string | null;
    readonly tsa: string | null;
    readonly root: string | null;
  };
}

/** Every key of deployctl's config.yaml. */
export const ctlKeys = keyTableOf({
  url: optional(nullable(serviceUrl), null, 'Address of the tenancy service.'),
  token_file: optional(nullable(absolutePath), null, 'File of your token; mode 0600.'),
  ca_file: optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the service; default: the authorities of the system.',
  ),
  'sigstore.fulcio': optional(nullable(serviceUrl), null, 'Certificate authority of your own Sigstore instance.'),
  'sigstore.rekor': optional(nullable(serviceUrl), null, 'Its log of signatures.'),
  'sigstore.tsa': optional(nullable(serviceUrl), null, 'Address of a timestamp authority (RFC 3161), with its path.'),
  'sigstore.root': optional(nullable(absolutePath), null, 'Trust root by which new signatures are verified.'),
});
