import { readConfigFile } from '../../core/config/configFile.ts';
import { defaultPolicy, type HostPolicy } from '../../api/hostPolicy.rules.ts';
import { policyTable } from './configKeys.ts';
import { validatePolicy } from './configValidators.ts';
import { withConfigFaults } from './settingsFile.ts';

/** The policy of a host, by a file with the key `policy` of its config.yaml; without a file the default. Throws CONFIG_INVALID. */
export function readPolicy(file: string | undefined): HostPolicy {
  if (file === undefined) return defaultPolicy;
  return withConfigFaults(() => readConfigFile<{ policy: HostPolicy }>(file, format).settingsUnless([]).policy);
}

const format = {
  table: policyTable,
  validate: validatePolicy,
  example: 'policy: {permit: {capabilities: [NET_ADMIN]}}',
  naming: 'with --policy',
};
