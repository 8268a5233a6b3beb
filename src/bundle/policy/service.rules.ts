import { printable } from '../../core/text.rules.ts';
import { containerName } from './engineNames.rules.ts';
import { envFiles, environment, labelFiles, labels } from './environment.rules.ts';
import { refuse, refuseWithoutValue } from './finding.rules.ts';
import { mounts, tmpfs } from './mounts.rules.ts';
import { replicas, size, stopGracePeriod } from './quantities.rules.ts';
import {
  addedCapabilities,
  blockIo,
  command,
  contentReferences,
  dependsOn,
  deploy,
  develop,
  devices,
  extraHosts,
  gpus,
  healthcheck,
  lifecycleHooks,
  links,
  logging,
  namespaceMode,
  networkAttachments,
  networkMode,
  pullPolicy,
  restart,
  securityOptions,
  stopSignal,
  supplementaryGroups,
  sysctls,
  ulimits,
  user,
} from './serviceParts.rules.ts';
import {
  booleanText,
  forbidden,
  isFalse,
  type KeyTable,
  listOf,
  literalName,
  mappingOf,
  nullable,
  numberText,
  oneOfKinds,
  privileged,
  privilegedUnless,
  privilegedUnlessFalse,
  servicePermitUnless,
  string,
  text,
  textList,
  textMatching,
  textOrList,
  textValidator,
} from './validators.rules.ts';

/** `image`: pinned by its sha256 if the host requires that. A variable is checked after compose has rendered it. */
const image = textValidator((reference, value, location) => {
  const { host, rendered } = location.facts;
  const isDecidedLater = rendered === undefined && reference.includes('$');
  if (host.policy.images === 'any' || isDecidedLater || /@sha256:[0-9a-f]{64}$/.test(reference)) return [];
  const message = 'is not pinned, as policy.images of this host requires';
  return refuseWithoutValue(value, location, { message, cure }).map((each) => ({ ...each, isUnpinned: true }));
});

const cure = 'write IMAGE@sha256:DIGEST, which deployctl bundle import --pin does';

/** Literal ports after an address, which no variable in the address can change. */
const portsBehindAddress = /:[\d-]+:[\d-]+(?:\/\w+)?$/;

/** Whether a port is larger than any protocol allows. */
const hasTooLargePort = (written: string) => (written.match(/\d+/g) ?? []).some((number) => Number(number) > 65_535);

/** A port or a range. A range must be literal: compose expands it before the rendered model can be validated. */
const portOrRange = textValidator((written, value, location) => {
  const filledIn = written.replace(/(\$\{\w+):?(\?[^}]*|[-+])/g, '$1');
  if (!written.includes('$') && hasTooLargePort(written)) {
    const message = `${printable(written)} has a port above 65535`;
    return refuse(value, location, { message, cure: 'write ports up to 65535' });
  }
  const isOpen = written.includes('$') && filledIn.includes('-') && !portsBehindAddress.test(written);
  return isOpen
    ? refuse(value, location, {
        message: `${printable(written)} has a range that must be written out`,
        cure: 'write both ports',
      })
    : [];
});

const portKeys = mappingOf({
  app_protocol: text,
  host_ip: text,
  mode: text,
  name: text,
  protocol: text,
  published: portOrRange,
  target: portOrRange,
});

/** `ports` of a service. */
const ports = listOf(oneOfKinds({ scalar: portOrRange, map: portKeys }));

/** `expose` of a service. */
const exposedPorts = listOf(portOrRange);

const outsideCure = 'run it as a service, or give its address as a variable';

/** The namespace of another service of the same project, which needs no privilege. */
const serviceNamespace = /^service:[\w.-]+$/;

/** The policy for services (spec §12): a key that is not in this table is refused. */
export const serviceKeys = {
  annotations: privileged,
  attach: booleanText,
  blkio_config: blockIo,
  build: forbidden('bundles bring images, they do not build them', 'build it beforehand and name it by image'),
  cap_add: addedCapabilities,
  cap_drop: textList,
  cgroup: privilegedUnless(/^private$/),
  cgroup_parent: privileged,
  command: nullable(command),
  configs: contentReferences,
  container_name: containerName,
  cpu_count: numberText,
  cpu_percent: numberText,
  cpu_period: text,
  cpu_quota: text,
  cpu_rt_period: privileged,
  cpu_rt_runtime: privileged,
  cpu_shares: numberText,
  cpus: numberText,
  cpuset: textMatching(/^[\d,\s-]*$/, 'processors, such as 0-2,4'),
  credential_spec: privileged,
  depends_on: dependsOn,
  deploy: nullable(deploy),
  develop: nullable(develop),
  device_cgroup_rules: privileged,
  devices,
  dns: textOrList,
  dns_opt: textList,
  dns_search: textOrList,
  domainname: string,
  entrypoint: nullable(command),
  env_file: envFiles,
  environment,
  expose: exposedPorts,
  extends: oneOfKinds({
    scalar: literalName,
    map: mappingOf({
      service: literalName,
      file: forbidden('a service can only extend a service of the same file, without `file`', 'put both into one file'),
    }),
  }),
  external_links: privileged,
  extra_hosts: extraHosts,
  gpus,
  group_add: supplementaryGroups,
  healthcheck,
  hostname: string,
  image,
  init: booleanText,
  ipc: namespaceMode('host_ipc', /^(none|private|shareable|service:[\w.-]+)$/),
  isolation: privileged,
  label_file: labelFiles,
  labels,
  links,
  logging,
  mac_address: string,
  mem_limit: size,
  mem_reservation: size,
  mem_swappiness: numberText,
  memswap_limit: size,
  models: forbidden('they run outside the project', outsideCure),
  network_mode: networkMode,
  networks: networkAttachments,
  oom_kill_disable: privilegedUnlessFalse,
  oom_score_adj: privilegedUnless(/^\+?\d+$/),
  pid: namespaceMode('host_pid', serviceNamespace),
  pids_limit: numberText,
  platform: text,
  ports,
  post_start: lifecycleHooks,
  pre_start: lifecycleHooks,
  pre_stop: lifecycleHooks,
  privileged: servicePermitUnless(isFalse, 'privileged'),
  profiles: listOf(literalName),
  provider: forbidden('it runs a program of the host as the agent', 'run it as a service with an image'),
  pull_policy: pullPolicy,
  pull_refresh_after: text,
  read_only: booleanText,
  restart,
  runtime: privilegedUnless(/^(runc)?$/),
  scale: replicas,
  secrets: contentReferences,
  security_opt: securityOptions,
  shm_size: size,
  stdin_open: booleanText,
  stop_grace_period: stopGracePeriod,
  stop_signal: stopSignal,
  storage_opt: mappingOf({ size: text }),
  sysctls,
  tmpfs,
  tty: booleanText,
  ulimits,
  use_api_socket: servicePermitUnless(isFalse, 'engine_socket'),
  user,
  userns_mode: privileged,
  uts: privileged,
  volumes: mounts,
  volumes_from: listOf(privilegedUnless(/^(?!container:)[\w.-]+(:(ro|rw))?$/)),
  working_dir: string,
} satisfies KeyTable;

/** A key that a service may have. */
export type ServiceKey = keyof typeof serviceKeys;
