import { printable } from '../../../protocol/printable.ts';
import { power, refuse, type Judge } from './finding.ts';
import { labels } from './labels.ts';
import { bundleFile } from './paths.ts';
import { serviceKeys } from './service.ts';
import { subnetPool } from './subnets.ts';
import {
  either,
  flag,
  isName,
  keys,
  list,
  literal,
  never,
  nullable,
  off,
  onText,
  powerful,
  powerUnless,
  powerUnlessNamed,
  text,
  type Table,
} from './shapes.ts';
import { entriesOf } from './tree.ts';

/** Names of the engine start with the project's and `_`, which no env holds, so that no project's is the start of another's. */
const ownName: Judge = onText((name, value, place) =>
  name.startsWith(`${place.facts.projectName}_`) && /^[\w.-]+$/.test(name) ? [] : power(value, place, printable(name)),
);

/** Something that exists outside the project: the long form of old files counts like `true`. */
const external = either({ scalar: off, map: (value, place) => power(value, place, 'true') });

const networkKeys: Table = {
  attachable: flag,
  driver: powerUnless(/^(bridge)?$/),
  driver_opts: powerUnlessNamed(
    /^com\.docker\.network\.(driver\.mtu|bridge\.(enable_icc|enable_ip_masquerade|host_binding_ipv4))$/,
  ),
  enable_ipv4: flag,
  enable_ipv6: flag,
  external,
  internal: flag,
  ipam: keys({
    driver: powerUnless(/^(default)?$/),
    config: list(subnetPool),
    options: powerful,
  }),
  labels,
  name: ownName,
};

const volumeKeys: Table = {
  driver: powerUnless(/^(local)?$/),
  driver_opts: powerUnlessNamed(/^size$/),
  external,
  labels,
  name: ownName,
};

const outside = never('it comes from outside the bundle');

const configKeys: Table = {
  content: text,
  driver: outside,
  environment: literal(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the literal name of a variable'),
  external: literal(/^(false|no|off|n)$/i, 'false, for it would come from outside the bundle'),
  file: bundleFile,
  labels,
  name: text,
  template_driver: outside,
};

const secretKeys: Table = { ...configKeys, driver_opts: outside };

/** The policy for the top level of a compose file (spec §12): a key that is not in this table is refused. */
export const fileKeys: Table = {
  configs: section('config', keys(configKeys)),
  include: never('a bundle names its files in the manifest'),
  models: never('they run outside the project'),
  name: onText((name, value, place) =>
    name === place.facts.projectName ? [] : refuse(value, place, `${printable(name)} must be left out`),
  ),
  networks: section('network', nullable(keys(networkKeys))),
  secrets: section('secret', keys(secretKeys)),
  services: section('service', keys(serviceKeys)),
  version: text,
  volumes: section('volume', nullable(keys(volumeKeys))),
};

/** Named parts of one kind, each judged under its own name. */
function section(kind: string, judge: Judge): Judge {
  return either({
    map: (value, place) =>
      entriesOf(value).flatMap(([name, part]) => [
        ...(isName.test(name) ? [] : refuse(part, place, `${printable(name)} is no name`)),
        ...judge(part, { ...place, where: `${kind} ${printable(name)}`, key: '' }),
      ]),
  });
}
