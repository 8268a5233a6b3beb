import { printable } from '../../core/text.rules.ts';
import { textOf, valueAt } from '../compose/composeNode.rules.ts';
import { environment, labels } from './environment.rules.ts';
import {
  refuse,
  refuseUnpermitted,
  refusePrivilege,
  refuseVariable,
  refuseWithoutValue,
  serviceOf,
  type Validator,
} from './finding.rules.ts';
import { normalizeHostPath } from './policyHost.rules.ts';
import { composeLimits } from './limits.rules.ts';
import { duration, replicas, size } from './quantities.rules.ts';
import {
  anyValue,
  booleanText,
  firstOf,
  listOf,
  literalMatching,
  literalName,
  mapOf,
  mappingOf,
  namedEntries,
  nullable,
  numberText,
  oneOfKinds,
  permitUnless,
  privileged,
  privilegedUnless,
  privilegedUnlessFalse,
  privilegedUnlessNamed,
  string,
  text,
  textList,
  textMatching,
  textOrList,
  textValidator,
} from './validators.rules.ts';

/**
 * `network_mode`: the host's network has a separate code. Any other name is a network outside the project; so is
 * `bridge`, which containers of all projects share.
 */
export const networkMode: Validator = textValidator((mode, value, location) => {
  if (mode === 'host')
    return refuseUnpermitted(value, location, { permit: 'host_network', entry: serviceOf(location), message: mode });
  return /^(none|service:[\w.-]+)$/.test(mode) ? [] : refusePrivilege(value, location, printable(mode));
});

/** `pid` and `ipc`: the host's namespace is a privilege; the namespace of a container outside the project has no permit. */
export function namespaceMode(permit: 'host_pid' | 'host_ipc', harmless: RegExp): Validator {
  const otherwise = privilegedUnless(harmless);
  return textValidator((mode, value, location) =>
    mode === 'host'
      ? refuseUnpermitted(value, location, { permit, entry: serviceOf(location), message: mode })
      : otherwise(value, location),
  );
}

/** `cap_add`: the capabilities that the engine grants every container by default need no privilege. */
export const addedCapabilities: Validator = listOf(
  permitUnless(
    /^(CAP_)?(AUDIT_WRITE|CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|MKNOD|NET_BIND_SERVICE|NET_RAW|SETFCAP|SETGID|SETPCAP|SETUID|SYS_CHROOT)$/i,
    'capabilities',
  ),
);

/** `group_add`: groups below 1000 are system groups of the host, such as docker's. */
export const supplementaryGroups: Validator = listOf(
  permitUnless(/^([1-9]\d{3,9}|(?!(root|docker)$)[a-z_][a-z0-9_-]*)$/, 'groups'),
);

/** `user`: its group follows the same rule; root's group is the default of a container. */
const userAndGroup = textValidator((text, value, location) => {
  const group = text.includes(':') ? text.slice(text.indexOf(':') + 1) : '0';
  if (text.includes('$')) return refuseVariable(value, location, `${printable(text)} is decided by a variable`);
  if (group === '') {
    const cure = 'write USER or USER:GROUP';
    return refuse(value, location, { message: `${printable(text)} has no group`, cure });
  }
  return /^(0|root|[1-9]\d{3,9}|(?!docker$)[A-Za-z_][\w.-]*)$/.test(group)
    ? []
    : refuseUnpermitted(value, location, { permit: 'groups', entry: group, message: printable(text) });
});

export const user = firstOf(string, userAndGroup);

const ulimit = oneOfKinds({ scalar: numberText, map: mappingOf({ soft: numberText, hard: numberText }) });
export const ulimits = privilegedUnlessNamed(
  /^(as|core|cpu|data|fsize|locks|memlock|nofile|nproc|rss|sigpending|stack)$/,
  ulimit,
);

export const sysctls = privilegedUnlessNamed(/^net\.[\w.-]+$/, text, 'sysctls');

/** `logging`: only drivers that keep the log on this host; a plugin could send it anywhere. */
export const logging = mappingOf({
  driver: privilegedUnless(/^(json-file|local|journald|none)$/),
  options: privilegedUnlessNamed(
    /^(max-size|max-file|compress|labels|labels-regex|env|env-regex|tag|mode|max-buffer-size)$/,
  ),
});

/** A list begins with how the rest of it is run. */
const healthTest: Validator = firstOf(textOrList, (value, location) => {
  const [first] = value.kind === 'list' ? value.items : [];
  const kind = textOf(first);
  if (first === undefined || kind === null || /^(CMD|CMD-SHELL|NONE)$|\$/.test(kind)) return [];
  const message = `${printable(kind)} is not CMD, CMD-SHELL or NONE`;
  return refuse(first, location, { message, cure: 'begin it with CMD, CMD-SHELL or NONE' });
});

export const healthcheck = mappingOf({
  disable: booleanText,
  interval: duration,
  retries: textMatching(/^\+?(\d[\d_]*(\.\d*)?|0x[\da-f]+|0o[0-7]+)$/i, 'a number of 0 or more'),
  start_interval: duration,
  start_period: duration,
  test: healthTest,
  timeout: duration,
});

/** `command` and `entrypoint`: compose splits a text into words and uses a list unchanged. */
export const command: Validator = (value, location) => [
  ...textOrList(value, location),
  ...((textOf(value)?.length ?? 0) > composeLimits.commandCharacters
    ? refuseWithoutValue(value, location, {
        message: `has more than ${composeLimits.commandCharacters} characters`,
        cure: 'write it as a list',
      })
    : []),
];

const hookKeys = { command, user, privileged: privilegedUnlessFalse, working_dir: text, environment };
/** `pre_start`, `post_start` and `pre_stop`: commands that compose runs in the container. */
export const lifecycleHooks = listOf(mappingOf(hookKeys));

/** `develop`: for `compose watch` alone, which the agent never calls. */
export const develop = mappingOf({
  watch: listOf(
    mappingOf({
      ...{ action: text, path: text, target: text, initial_sync: booleanText },
      exec: mappingOf({ ...hookKeys, command: nullable(command) }),
      ...{ ignore: nullable(textOrList), include: nullable(textOrList) },
    }),
  ),
});

const condition = textMatching(
  /^service_(started|healthy|completed_successfully)$/,
  'service_started, service_healthy or service_completed_successfully',
);
const dependencyKeys = mappingOf({ condition, restart: booleanText, required: booleanText });
/** `links`: literal, because a variable could make a service depend on any other. */
export const links = listOf(literalMatching(/^[\w.-]+(:[\w.-]+)?$/, 'SERVICE or SERVICE:ALIAS'));
const distinctNames: Validator = firstOf(listOf(literalName), (value, location) => {
  const names = value.kind === 'list' ? value.items.map(textOf) : [];
  const twice = names.find((name, index) => names.indexOf(name) < index) ?? null;
  if (twice === null) return [];
  return refuse(value, location, { message: `names ${printable(twice)} twice`, cure: 'name each service once' });
});
export const dependsOn = oneOfKinds({ list: distinctNames, map: namedEntries(dependencyKeys) });

const networkAttachment = mappingOf({
  aliases: textList,
  driver_opts: privileged,
  gw_priority: numberText,
  interface_name: text,
  ipv4_address: text,
  ipv6_address: text,
  link_local_ips: privileged,
  mac_address: text,
  priority: numberText,
});
/** `networks` of a service. */
export const networkAttachments = oneOfKinds({
  list: listOf(literalName),
  map: namedEntries(nullable(networkAttachment)),
});

/** `configs` and `secrets` of a service. */
export const contentReferences = listOf(
  oneOfKinds({
    scalar: literalName,
    map: mappingOf({ source: literalName, target: text, uid: text, gid: text, mode: numberText }),
  }),
);

const extraHost = firstOf(string, textMatching(/[:=]/, 'NAME:ADDRESS'));
export const extraHosts = oneOfKinds({ list: listOf(extraHost), map: mapOf(textOrList) });

/** `restart`: what the engine knows. */
export const restart = firstOf(
  string,
  textMatching(/^(no|always|unless-stopped|on-failure(:\d+)?|)$/, 'no, always, unless-stopped or on-failure[:N]'),
);

const signalName =
  /^(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|STKFLT|CH?LD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|UNUSED|RTMIN(\+\d+)?|RTMAX(-\d+)?)$|^\d{1,2}$/i;
/** `stop_signal`: a name or a number. */
export const stopSignal = firstOf(string, textMatching(signalName, 'a signal, such as SIGTERM'));

/** `blkio_config`: limits by device name devices of the host. */
export const blockIo = mappingOf({
  weight: numberText,
  device_read_bps: privileged,
  device_read_iops: privileged,
  device_write_bps: privileged,
  device_write_iops: privileged,
  weight_device: privileged,
});

export const pullPolicy = textMatching(
  /^(always|never|missing|if_not_present|daily|weekly|every_(\d+[wdhms])+)$/,
  'always, never, missing, if_not_present, daily, weekly or every_<duration>',
);

/** `gpus`, and devices reserved for `deploy`; a driver may know others than GPUs. */
export const gpus = anyValue((value, location, message) => {
  const driver = textOf(valueAt(value, 'driver')) ?? '';
  return /^(nvidia|amd)?$/.test(driver)
    ? refuseUnpermitted(value, location, { permit: 'gpus', entry: serviceOf(location), message })
    : refusePrivilege(value, location, `driver ${printable(driver)}`);
});

/** `devices`: device files by path; others are known to the engine's drivers alone. */
export const devices = anyValue((value, location, message) => {
  const [source = ''] = (textOf(valueAt(value, 'source') ?? value) ?? '').split(':');
  const isPlain = !source.includes('$') && source === normalizeHostPath(source);
  return isPlain
    ? refuseUnpermitted(value, location, { permit: 'devices', entry: source, message })
    : refusePrivilege(value, location, message);
});

const securityOption = permitUnless(/^no-new-privileges([:=]true)?$/, 'security_opt');

/** `security_opt`; a profile in a file of the bundle may say anything, so no permit names it. */
export const securityOptions = listOf(
  textValidator((option, value, location) =>
    /^seccomp[:=](?!unconfined$)/.test(option)
      ? refusePrivilege(value, location, printable(option))
      : securityOption(value, location),
  ),
);

const updateConfig = mappingOf({
  delay: duration,
  failure_action: text,
  max_failure_ratio: numberText,
  monitor: duration,
  order: text,
  parallelism: numberText,
});

export const deploy = mappingOf({
  endpoint_mode: text,
  labels,
  mode: text,
  placement: mappingOf({
    constraints: textList,
    max_replicas_per_node: numberText,
    preferences: listOf(mappingOf({ spread: text })),
  }),
  replicas,
  resources: mappingOf({
    limits: mappingOf({ cpus: numberText, memory: size, pids: numberText }),
    reservations: mappingOf({ cpus: numberText, memory: size, devices: gpus, generic_resources: privileged }),
  }),
  restart_policy: mappingOf({ condition: text, delay: duration, max_attempts: numberText, window: duration }),
  rollback_config: updateConfig,
  update_config: updateConfig,
});
