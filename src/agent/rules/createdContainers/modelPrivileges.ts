import { normalizeCapability, normalizeSecurityOption } from './normalizedOptions.ts';
import { listOf, objectOf, textOf, textsOf, type ModelObject } from './renderedModel.ts';

/** The facts of a service's privileges besides mounts and networks. */
export function privilegeFactsOf(service: ModelObject): string[] {
  const when = (key: string, fact: string) => (service[key] === true || service[key] === 'true' ? [fact] : []);
  const namespaces = ['pid', 'ipc', 'uts', 'userns_mode'].flatMap((key) => {
    const mode = textOf(service[key]);
    return /^(host$|service:|container:)/.test(mode) ? [namespaceFact(key.replace('_mode', ''), mode)] : [];
  });
  const reserved = objectOf(objectOf(objectOf(service['deploy'])['resources'])['reservations'])['devices'];
  const requestsDevice = listOf(service['gpus']).length + listOf(reserved).length > 0 || textOf(service['gpus']) !== '';
  const disablesLabel =
    service['privileged'] === true || textOf(service['pid']) === 'host' || textOf(service['ipc']) === 'host';
  return [
    ...when('privileged', 'privileged'),
    ...textsOf(service['cap_add']).map((name) => `capability ${normalizeCapability(name)}`),
    ...listOf(service['devices']).map(deviceFact),
    ...(requestsDevice ? ['device request'] : []),
    ...textsOf(service['device_cgroup_rules']).map((rule) => `device rule ${rule}`),
    ...textsOf(service['security_opt']).map((option) => `security ${normalizeSecurityOption(option)}`),
    ...(disablesLabel ? ['security label=disable'] : []),
    ...textsOf(service['group_add']).map((group) => `group ${group}`),
    ...Object.entries(objectOf(service['sysctls'])).map(([name, value]) => `sysctl ${name}=${textOf(value)}`),
    ...namespaces,
    ...(listOf(service['external_links']).length > 0 ? ['link *'] : []),
    ...when('oom_kill_disable', 'oom_kill_disable'),
    ...(Number(service['oom_score_adj']) < 0 ? [`oom_score_adj ${Number(service['oom_score_adj'])}`] : []),
    ...(textOf(service['cgroup_parent']) === '' ? [] : [`cgroup_parent ${textOf(service['cgroup_parent'])}`]),
  ];
}

/** The facts of a service's restrictions, and its runtime, whose default only the engine knows. */
export function restrictionFactsOf(service: ModelObject): string[] {
  const hasNoNewPrivileges = textsOf(service['security_opt'])
    .map(normalizeSecurityOption)
    .includes('no-new-privileges');
  return [
    ...textsOf(service['cap_drop']).map((name) => `without ${normalizeCapability(name)}`),
    ...(hasNoNewPrivileges ? ['no-new-privileges'] : []),
    ...(textOf(service['cgroup']) === 'private' ? ['cgroup private'] : []),
    ...(textOf(service['runtime']) === '' ? [] : [`runtime ${textOf(service['runtime'])}`]),
  ];
}

/** The fact of a namespace shared with the host, a service or a container. */
export function namespaceFact(kind: string, mode: string): string {
  const [target = '', name = ''] = mode.split(':');
  return target === 'service' ? `${kind} service ${name}` : `${kind} ${target}`;
}

function deviceFact(device: unknown): string {
  const [source = '', target, permissions] =
    typeof device === 'string'
      ? textOf(device).split(':')
      : ['source', 'target', 'permissions'].map((key) => textOf(objectOf(device)[key]) || undefined);
  if (!source.startsWith('/')) return 'device request';
  return `device ${source}:${target ?? source}:${permissions ?? 'rwm'}`;
}
