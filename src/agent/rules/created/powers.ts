import { capabilityOf, securityOf } from './facts.ts';
import { listOf, partOf, textOf, textsOf, type Part } from './rendered.ts';

/** The facts of a service's powers besides mounts and networks. */
export function powersOf(service: Part): string[] {
  const when = (key: string, fact: string) => (service[key] === true || service[key] === 'true' ? [fact] : []);
  const namespaces = ['pid', 'ipc', 'uts', 'userns_mode'].flatMap((key) => {
    const mode = textOf(service[key]);
    return /^(host$|service:|container:)/.test(mode) ? [sharedFact(key.replace('_mode', ''), mode)] : [];
  });
  const reserved = partOf(partOf(partOf(service['deploy'])['resources'])['reservations'])['devices'];
  const isHelped = listOf(service['gpus']).length + listOf(reserved).length > 0 || textOf(service['gpus']) !== '';
  const isUnlabelled =
    service['privileged'] === true || textOf(service['pid']) === 'host' || textOf(service['ipc']) === 'host';
  return [
    ...when('privileged', 'privileged'),
    ...textsOf(service['cap_add']).map((name) => `capability ${capabilityOf(name)}`),
    ...listOf(service['devices']).map(deviceFact),
    ...(isHelped ? ['device request'] : []),
    ...textsOf(service['device_cgroup_rules']).map((rule) => `device rule ${rule}`),
    ...textsOf(service['security_opt']).map((option) => `security ${securityOf(option)}`),
    ...(isUnlabelled ? ['security label=disable'] : []),
    ...textsOf(service['group_add']).map((group) => `group ${group}`),
    ...Object.entries(partOf(service['sysctls'])).map(([name, value]) => `sysctl ${name}=${textOf(value)}`),
    ...namespaces,
    ...(listOf(service['external_links']).length > 0 ? ['link *'] : []),
    ...when('oom_kill_disable', 'oom_kill_disable'),
    ...(Number(service['oom_score_adj']) < 0 ? [`oom_score_adj ${Number(service['oom_score_adj'])}`] : []),
    ...(textOf(service['cgroup_parent']) === '' ? [] : [`cgroup_parent ${textOf(service['cgroup_parent'])}`]),
  ];
}

/** What takes power away, and the runtime, of which only the engine knows the usual one. */
export function limitsOf(service: Part): string[] {
  const isNoNew = textsOf(service['security_opt']).map(securityOf).includes('no-new-privileges');
  return [
    ...textsOf(service['cap_drop']).map((name) => `without ${capabilityOf(name)}`),
    ...(isNoNew ? ['no-new-privileges'] : []),
    ...(textOf(service['cgroup']) === 'private' ? ['cgroup private'] : []),
    ...(textOf(service['runtime']) === '' ? [] : [`runtime ${textOf(service['runtime'])}`]),
  ];
}

/** The fact of a namespace that is the host's, a service's or a container's. */
export function sharedFact(kind: string, mode: string): string {
  const [whose = '', name = ''] = mode.split(':');
  return whose === 'service' ? `${kind} service ${name}` : `${kind} ${whose}`;
}

function deviceFact(device: unknown): string {
  const [source = '', target, permissions] =
    typeof device === 'string'
      ? textOf(device).split(':')
      : ['source', 'target', 'permissions'].map((key) => textOf(partOf(device)[key]) || undefined);
  if (!source.startsWith('/')) return 'device request';
  return `device ${source}:${target ?? source}:${permissions ?? 'rwm'}`;
}
