import type { ImageTrustSettings, TrustSettings } from '../../api/trust.rules.ts';
import type { ConfiguredSettings } from './configKeys.ts';

/** The settings of another environment of this host; a key is absent if it is not valid. */
export type OtherEnv = Partial<Pick<Settings, 'env' | 'state_dir'>> & Pick<Settings, 'config_file'>;

/** The validated configuration: config.yaml merged with the defaults, frozen (spec §6). Addresses have no trailing slash. */
export interface Settings extends Omit<ConfiguredSettings, 'secretstore_ca'> {
  /** The file that the settings were read from. */
  readonly config_file: string;
  /** Null when the default file does not exist: the system's roots are used then. */
  readonly secretstore_ca: string | null;
}

/** Which signatures a host requires for images; null if it requires none. */
export interface HostTrust {
  readonly bundles: TrustSettings | null;
  readonly images: ImageTrustSettings | null;
}

/** Which signatures a host requires. */
export type Signed = keyof HostTrust;
