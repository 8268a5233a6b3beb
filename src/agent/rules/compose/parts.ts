import { printable } from '../../../protocol/printable.ts';
import { beyond, hostNetwork, power, type Judge } from './finding.ts';
import { environment } from './environment.ts';
import { labels } from './labels.ts';
import { limits } from './limits.ts';
import { duration, replicas, size } from './quantities.ts';
import {
  either,
  flag,
  keys,
  list,
  literal,
  map,
  name,
  named,
  nullable,
  number,
  off,
  onText,
  plain,
  powerful,
  powerUnless,
  powerUnlessNamed,
  text,
  textList,
  texts,
} from './shapes.ts';
import { textOf } from './tree.ts';

/**
 * `network_mode`: the host's network has its own code; any other name is a network of somebody else, and so is `bridge`, on
 * which containers of every project meet.
 */
export const networkMode: Judge = onText((mode, value, place) => {
  if (mode === 'host') return hostNetwork(value, place);
  return /^(none|service:[\w.-]+)$/.test(mode) ? [] : power(value, place, printable(mode));
});

/** What the engine gives every container anyway. */
export const capabilities: Judge = list(
  powerUnless(
    /^(CAP_)?(AUDIT_WRITE|CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|MKNOD|NET_BIND_SERVICE|NET_RAW|SETFCAP|SETGID|SETPCAP|SETUID|SYS_CHROOT)$/i,
  ),
);

/** Groups below 1000 are the host's own, docker's among them. */
export const groups: Judge = list(powerUnless(/^([1-9]\d{3,9}|(?!(root|docker)$)[a-z_][a-z0-9_-]*)$/));

/** `user`, of whose group the same holds; root's own is what a container has anyway. */
export const user = onText((text, value, place) => {
  const group = text.includes(':') ? text.slice(text.indexOf(':') + 1) : '0';
  if (text.includes('$')) return power(value, place, `${printable(text)} is decided by a variable`);
  return /^(0|root|[1-9]\d{3,9}|(?!docker$)[A-Za-z_][\w.-]*)$/.test(group) ? [] : power(value, place, printable(text));
});

const limit = either({ scalar: number, map: keys({ soft: number, hard: number }) });
export const ulimits = powerUnlessNamed(/^(as|core|cpu|data|fsize|locks|nofile|nproc|rss|sigpending|stack)$/, limit);

export const sysctls = powerUnlessNamed(/^net\.[\w.-]+$/);

/** Drivers that keep the log on this host; a plugin could send it anywhere. */
export const logging = keys({
  driver: powerUnless(/^(json-file|local|journald|none)$/),
  options: powerUnlessNamed(
    /^(max-size|max-file|compress|labels|labels-regex|env|env-regex|tag|mode|max-buffer-size)$/,
  ),
});

export const healthcheck = keys({
  disable: flag,
  interval: duration,
  retries: number,
  start_interval: duration,
  start_period: duration,
  test: texts,
  timeout: duration,
});

/** `command` and `entrypoint`: compose splits a text into words, a list it takes as it is. */
export const command: Judge = (value, place) => [
  ...texts(value, place),
  ...((textOf(value) ?? '').length > limits.command
    ? beyond(value, place, `has more than ${limits.command} characters; write it as a list`)
    : []),
];

/** `post_start` and `pre_stop`: commands that compose runs in the container. */
export const hooks = list(keys({ command, user, privileged: off, working_dir: text, environment }));

const dependency = keys({ condition: text, restart: flag, required: flag });
/** Other services under names of the bundle's own choice; a variable could make one depend on any. */
export const links = list(literal(/^[\w.-]+(:[\w.-]+)?$/, 'SERVICE or SERVICE:ALIAS'));
export const dependencies = either({ list: list(name), map: named(dependency) });

const attachment = keys({
  aliases: textList,
  driver_opts: powerful,
  gw_priority: number,
  interface_name: text,
  ipv4_address: text,
  ipv6_address: text,
  link_local_ips: powerful,
  mac_address: text,
  priority: number,
});
/** `networks` of a service. */
export const attachments = either({ list: list(name), map: named(nullable(attachment)) });

/** `configs` and `secrets` of a service. */
export const references = list(
  either({ scalar: name, map: keys({ source: name, target: text, uid: text, gid: text, mode: number }) }),
);

export const hosts = either({ list: textList, map: map(texts) });

/** Limits by device name host devices. */
export const blockIo = keys({
  weight: number,
  device_read_bps: powerful,
  device_read_iops: powerful,
  device_write_bps: powerful,
  device_write_iops: powerful,
  weight_device: powerful,
});

export const pullPolicy = plain(
  /^(always|never|missing|if_not_present|daily|weekly|every_\w+)$/,
  'always, never, missing, if_not_present, daily, weekly or every_<duration>',
);

const update = keys({
  delay: duration,
  failure_action: text,
  max_failure_ratio: number,
  monitor: duration,
  order: text,
  parallelism: number,
});

export const deploy = keys({
  endpoint_mode: text,
  labels,
  mode: text,
  placement: keys({
    constraints: textList,
    max_replicas_per_node: number,
    preferences: list(keys({ spread: text })),
  }),
  replicas,
  resources: keys({
    limits: keys({ cpus: number, memory: size, pids: number }),
    reservations: keys({ cpus: number, memory: size, devices: powerful, generic_resources: powerful }),
  }),
  restart_policy: keys({ condition: text, delay: duration, max_attempts: number, window: duration }),
  rollback_config: update,
  update_config: update,
});
