import manifest from '../package.json' with { type: 'json' };

/** The agent's version, also that of its package and of its release tag `v<version>`. */
export const version = manifest.version;
