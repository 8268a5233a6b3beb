import type { TrustSettings } from '../../api/trust.rules.ts';
import type { ConfiguredSettings } from './configKeys.ts';

/** What the configuration of another env of this host says; a key is absent where it is not valid. */
export type OtherEnv = Partial<Pick<Settings, 'env' | 'state_dir'>> & Pick<Settings, 'config_file'>;

/** The validated configuration: config.yaml merged with the defaults, frozen (spec §6). Addresses have no trailing slash. */
export interface Settings extends Omit<ConfiguredSettings, 'secretstore_ca'> {
  /** The file that they come from. */
  readonly config_file: string;
  /** Null when the default file does not exist: the system's roots are used then. */
  readonly secretstore_ca: string | null;
}

/** Of what a host demands signatures; null: of none. */
export interface HostTrust {
  readonly bundles: TrustSettings | null;
  readonly images: TrustSettings | null;
}

/** Of what signatures are demanded. */
export type Signed = keyof HostTrust;
