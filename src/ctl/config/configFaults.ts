import { ConfigInvalid } from '../../config/configInvalid.ts';
import { usageError } from '../ctlError.ts';

/** Reads a configuration file; its problems are thrown as CONFIG_INVALID. */
export function withConfigFaults<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    const lines = error.lines.map((line) => line.replace('CONFIG_INVALID: ', ''));
    throw usageError('CONFIG_INVALID', lines.join('; '));
  }
}
