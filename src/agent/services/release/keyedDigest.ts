import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import { loadLabelSalt } from '../../adapters/state/labelSalt.ts';
import type { Dependencies } from '../dependencies.ts';

/** Digests with this host's own key: they compare values that may be secret and reveal nothing about them (spec §12). */
export interface KeyedDigest {
  /** HMAC-SHA256 of a text, in hex. */
  of: (text: string) => string;
  /** Identifies the key, which is replaced when `label.salt` is lost. */
  keyId: string;
}

/** Loads the key of the host. Throws a Fault when it cannot be read or created. */
export async function loadKeyedDigest({ settings }: Pick<Dependencies, 'settings'>): Promise<KeyedDigest> {
  const key = await loadLabelSalt(join(settings.state_dir, settings.env));
  return {
    of: (text) => createHmac('sha256', key).update(text).digest('hex'),
    keyId: createHash('sha256').update(key).digest('hex').slice(0, 16),
  };
}
