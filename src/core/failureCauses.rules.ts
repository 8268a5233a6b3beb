import { visible } from './text.rules.ts';

/** The cause of a failed step, in plain words, with a cure. */
interface FailureCause {
  cause: string;
  cure: string;
  /** Messages of the engine, compose or docker; a group `what` is the part that names the culprit. */
  said: readonly RegExp[];
  /** Messages in the log of a container. */
  printed?: readonly RegExp[];
}

/** Causes of failed pulls, and of images that were pulled. */
const imageCauses = {
  'registry-limit': {
    cause: 'the registry limits how often this host may pull',
    cure: 'wait, log in to the registry, or use a mirror',
    said: [/toomanyrequests|pull rate limit/i],
  },
  'registry-refused': {
    cause: 'the registry refuses this host',
    cure: 'correct name of the image and registries in the manifest of the bundle',
    said: [/unauthorized:|authentication required|pull access denied|no basic auth credentials|denied: requested/i],
  },
  'image-platform': {
    cause: 'an image does not exist for the processor of this host',
    cure: 'build it for this platform',
    said: [/no matching manifest for (?<what>\S+)|does not match the (?:specified|detected host) platform/i],
  },
  'image-unknown': {
    cause: 'the registry does not have an image',
    cure: 'correct its name and tag, or push it',
    said: [
      /manifest for (?<what>\S+) not found|manifest unknown|repository name not known/i,
      /failed to resolve reference "(?<what>[^"]+)".*: not found/i,
    ],
  },
  'registry-untrusted': {
    cause: 'the certificate of a registry is not trusted',
    cure: 'give its authority to the engine, below certs.d of its configuration',
    said: [/x509:|server gave HTTP response to HTTPS client/i],
  },
  'image-gone': {
    cause: 'an image is gone from this host',
    cure: 'load it (sudo docker load), or promote a bundle again, which pulls it',
    said: [/no such image: (?<what>\S+)/i],
  },
  'image-damaged': {
    cause: 'an image on this host is damaged',
    cure: 'remove it with sudo docker image rm; the next apply pulls it again',
    said: [
      /layer does not exist|failed to register layer|failed to get digest|invalid diffID|error creating overlay mount/i,
    ],
  },
} as const satisfies Record<string, FailureCause>;

const seeMessage = 'the message of the engine says why';

/**
 * Causes of failed steps, by name, special causes before general ones. Names and texts are the same on every host, so
 * that a message that must not contain output of a host may contain them.
 */
export const failureCauses = {
  'address-in-use': {
    cause: 'a fixed address of a container is in use',
    cure: 'give the service another address, or none',
    said: [/daemon: Address already in use$/i],
  },
  'port-in-use': {
    cause: 'a port of this host is in use',
    cure: 'find its user with sudo ss -ltnup and stop it, or publish another port',
    said: [
      /(?:Bind for|listen \w+|exposing port \w+) \S*:(?<what>\d+)\b.*(?:port is already allocated|address already in use)/i,
      /port is already allocated|bind: address already in use/i,
    ],
  },
  'port-denied': {
    cause: 'the engine may not use a port of this host',
    cure: 'publish a port from 1024 on, or lower net.ipv4.ip_unprivileged_port_start',
    said: [/cannot expose privileged port (?<what>\d+)/i, /listen \w+ \S*:(?<what>\d+): bind: permission denied/i],
  },
  'address-unknown': {
    cause: 'a port is published on an address that this host does not have',
    cure: 'correct the address, or wait until its network is up: the next tick tries again',
    said: [/listen \w+ (?<what>\S+): bind: cannot assign requested address/i, /cannot assign requested address/i],
  },
  'network-ambiguous': {
    cause: 'several networks have one name',
    cure: 'remove those without containers: sudo docker network rm ID (sudo docker network inspect ID names its containers)',
    said: [/network (?<what>\S+) is ambiguous/i, /\d+ matches found based on name: network (?<what>\S+)/i],
  },
  'network-foreign': {
    cause: 'something else made a network of this name',
    cure: 'remove it with sudo docker network rm, or give the network another name',
    said: [
      /network (?<what>\S+) was found but has incorrect label/i,
      /network with name (?<what>\S+) (?:already )?exists/i,
    ],
  },
  'subnets-exhausted': {
    cause: 'the engine has no subnet left for a network',
    cure: 'remove unused networks with sudo docker network prune, or give the engine more default-address-pools',
    said: [/non-overlapping IPv[46] address pool|address pools have been fully subnetted|no free subnet/i],
  },
  'subnet-overlaps': {
    cause: 'a subnet of a network is in use already',
    cure: 'give the network another subnet, or remove the network that has it (sudo docker network ls)',
    said: [/pool overlaps with other one|subnet (?<what>\S+) is already (?:used|being used)/i],
  },
  'addresses-exhausted': {
    cause: 'a network has no free address left',
    cure: 'give the network a larger subnet, or remove containers from it',
    said: [/no available IPv[46] addresses/i],
  },
  'endpoint-exists': {
    cause: 'the engine kept the endpoint of a container that is gone',
    cure: 'sudo docker rm --force NAME && sudo docker network disconnect --force NETWORK NAME, or restart the engine',
    said: [/endpoint with name (?<what>\S+) already exists/i],
  },
  'removal-in-progress': {
    cause: 'the engine is still removing a container',
    cure: 'the next try may succeed; if it does not, free what holds its files and restart the engine',
    said: [/removal of container (?<what>\w{12})\w* is already in progress/i, /marked for removal|is being removed/i],
  },
  'removal-failed': {
    cause: 'the engine cannot remove a container',
    cure: 'free its files (a mount in another program, an attribute: lsattr, a bad disk), then sudo docker rm --force ID',
    said: [
      /failed to remove root filesystem|unable to remove filesystem|(?:cannot|could not|unable to) remove container/i,
    ],
  },
  'kill-failed': {
    cause: 'the engine cannot stop a container',
    cure: 'its processes hang (a lost network mount, a bad disk) or the engine lost it: restart the engine, else the host',
    said: [/did not receive an exit event|(?:cannot|could not) (?:kill|stop) (?:running )?container/i],
  },
  'keys-exhausted': {
    cause: 'the kernel has no key left for the user of a container',
    cure: 'raise kernel.keys.maxkeys and kernel.keys.maxbytes with sysctl; no disk is full',
    said: [/session key(?:ring)?: .*disk quota exceeded/i],
  },
  'cgroups-exhausted': {
    cause: 'the kernel has no control group left, or keeps groups of containers that are gone',
    cure: 'reboot the host, and update its kernel; no disk is full',
    said: [/\/sys\/fs\/cgroup\/\S*: no space left on device/i],
  },
  'watches-exhausted': {
    cause: 'the kernel has no inotify watch left',
    cure: 'raise fs.inotify.max_user_watches with sysctl; no disk is full',
    said: [/(?:inotify|fsnotify).*no space left on device/i],
    printed: [/(?:inotify|fsnotify).*no space left on device/i],
  },
  'disk-full': {
    cause: 'a filesystem of this host is full',
    cure: 'find it with df -h and df -i; sudo docker image prune --all removes images that no container uses',
    said: [/no space left on device|disk quota exceeded/i],
    printed: [/no space left on device|disk quota exceeded/i],
  },
  'disk-read-only': {
    cause: 'a filesystem of this host is read-only',
    cure: 'look at sudo dmesg for a failing disk; repair the filesystem and mount it again',
    said: [/(?<what>\/\S+): read-only file system/i, /read-only file system/i],
  },
  'host-exhausted': {
    cause: 'this host has no memory, processes or open files left',
    cure: 'stop what uses them, or raise the limits of the engine',
    said: [/cannot allocate memory|resource temporarily unavailable|too many open files|pthread_create failed/i],
  },
  'exec-format': {
    cause: 'a program is built for another processor, or is not a program',
    cure: 'build the image for this host; a script needs a first line with #!',
    said: [/exec:? "?(?<what>[^\s":]+)"?:? exec format error/i, /exec format error/i],
    printed: [/exec (?<what>\/\S+): exec format error/i, /exec format error/i],
  },
  'program-missing': {
    cause: 'a program is missing in its image',
    cure: 'correct command, entrypoint or image; a script needs its interpreter too',
    said: [
      /exec: \\?"(?<what>[^"\\]+)\\?": (?:executable file not found|stat \S+: no such file or directory)/i,
      /executable file (?:`(?<what>[^`]+)` )?not found in \$PATH/i,
    ],
    printed: [/exec (?<what>\/\S+): no such file or directory/i],
  },
  'program-denied': {
    cause: 'a program may not be executed',
    cure: 'give the file its x bit, and take noexec from its mount',
    said: [/exec: \\?"(?<what>[^"\\]+)\\?": permission denied/i],
    printed: [/exec (?<what>\/\S+): permission denied/i],
  },
  'mount-kind': {
    cause: 'a mount has a directory in place of a file, or a file in place of a directory',
    cure: 'correct source or target of the mount',
    said: [/trying to mount a directory onto a file|not a directory: unknown/i],
  },
  'mount-missing': {
    cause: 'a path of this host that a container mounts is missing',
    cure: 'create it, or mount its filesystem',
    said: [
      /bind source path does not exist: (?<what>\S+)/i,
      /error while creating mount source path '?(?<what>[^':]+)/i,
      /statfs (?<what>\S+): no such file or directory/i,
    ],
  },
  'mount-denied': {
    cause: 'the engine is not permitted to mount a path',
    cure: 'permit it in the configuration of the engine, or mount another path',
    said: [/mounts? denied|is not shared from the host/i],
  },
  'volume-unmountable': {
    cause: 'a volume cannot be mounted',
    cure: 'correct server, path and options of the volume; is its server up?',
    said: [/failed to mount local volume|error while mounting volume/i],
  },
  'volume-in-use': {
    cause: 'a container uses a volume that should be removed',
    cure: 'remove that container (sudo docker ps --all --filter volume=NAME)',
    said: [/volume is in use/i],
  },
  'device-missing': {
    cause: 'a device of this host is missing',
    cure: 'connect it, or load its driver',
    said: [/error gathering device information while adding custom device "(?<what>[^"]+)"/i, /no such device/i],
  },
  'device-driver': {
    cause: 'the engine has no driver for a device that a service requires',
    cure: 'install it (for NVIDIA its container toolkit) and restart the engine',
    said: [/could not select device driver "(?<what>[^"]*)"/i, /unresolvable CDI devices (?<what>\S+)/i],
  },
  'device-busy': {
    cause: 'a device or mount of this host is in use',
    cure: 'find its user with sudo fuser --verbose --mount PATH, and stop it',
    said: [/(?<what>\/\S+): device or resource busy/i, /(?:device or resource|device is) busy/i],
  },
  'runtime-missing': {
    cause: 'the engine lacks a runtime that a service names',
    cure: 'install it and name it in the configuration of the engine, or remove runtime from the service',
    said: [/unknown runtime specified (?<what>\S+)/i, /unknown or invalid runtime name: (?<what>\S+)/i],
  },
  'namespace-gone': {
    cause: 'a container whose namespace another one shares does not run',
    cure: 'look why it ended; the next try makes both again',
    said: [/cannot join \w+(?: namespace)? of a non running container|joining \w+ namespace of container/i],
  },
  'container-paused': {
    cause: 'a container is paused',
    cure: 'sudo docker unpause NAME, or remove it: the next try makes it again',
    said: [/cannot start a paused container/i],
  },
  'service-missing': {
    cause: 'a service uses another one that has no container',
    cure: 'have the bundle applied again, which makes both',
    said: [/cannot share \w+ with service (?<what>\S+): container missing/i, /missing dependency (?<what>\S+)/i],
  },
  'network-missing': {
    cause: 'a network of a container is gone',
    cure: 'an external network has to be made first; otherwise remove the container, which the next try makes again',
    said: [/network (?<what>[\w.-]+) (?:not found|declared as external, but could not be found)/i],
  },
  'container-exists': {
    cause: 'the runtime still has a container of this id',
    cure: 'restart the engine; what is left of the container is in its exec root',
    said: [/container with (?:given )?id (?:already )?exists|mount already exists with name/i],
  },
  'log-driver': {
    cause: 'the logging driver of a container cannot be started',
    cure: 'is its server up? Correct the options below logging of the service',
    said: [/failed to initialize logging driver/i],
  },
  firewall: {
    cause: 'the engine cannot set up the firewall of this host',
    cure: 'restart the engine: something has removed its rules (a reload of another firewall?)',
    said: [/iptables.*failed|no chain\/target\/match by that name|nf_?tables.*(?:failed|error)/i],
  },
  'kernel-network': {
    cause: 'the kernel lacks what networks of containers need',
    cure: 'reboot the host if its kernel was updated; else load the modules veth, bridge and overlay',
    said: [/sandbox pair interfaces: operation not supported|failed to create .*(?:bridge|veth).*not supported/i],
  },
  'security-profile': {
    cause: 'a security profile of the host prevents a container',
    cure: 'look at sudo dmesg for apparmor or audit lines; reload the profile',
    said: [/apparmor.*(?:failed|not|could not)|unable to apply apparmor profile|seccomp.*(?:failed|error)/i],
  },
  cgroup: {
    cause: 'the host lacks a control group that a container needs',
    cure: 'mount the control groups, or remove the limit from the service',
    said: [/cgroup.*(?:not (?:exist|found|mounted)|no such|invalid|failed)/i],
  },
  ...imageCauses,
  'dependency-failed': {
    cause: 'a service that others await has failed',
    cure: 'its last output says why',
    said: [/dependency failed to start|service "[^"]+" didn't complete successfully|dependency .* is unhealthy/i],
  },
  'network-away': {
    cause: 'a server cannot be reached from this host',
    cure: 'look at name servers, routes and proxy of this host; the next try may succeed',
    said: [
      /lookup (?<what>[^\s:]+)(?: on \S+)?: (?:no such host|server misbehaving|i\/o timeout)/i,
      /no such host|i\/o timeout|TLS handshake timeout|dial tcp .*connection refused|connection reset by peer/i,
    ],
  },
  'storage-driver': {
    cause: 'the storage driver of the engine failed',
    cure: `${seeMessage}; sudo dmesg and the journal of the engine say more`,
    said: [/\b(?:overlay2?|overlayfs|aufs|btrfs|zfs|devicemapper|fuse-overlayfs)\b.*(?:fail|error|invalid|cannot)/i],
  },
  runtime: {
    cause: 'the runtime cannot start a container',
    cure: seeMessage,
    said: [/OCI runtime|failed to create (?:shim )?task|\b(?:runc|crun)\b.*(?:fail|error)/i],
  },
} as const satisfies Record<string, FailureCause>;

export type CauseName = keyof typeof failureCauses;

/** A cause that was found, and what names the culprit. */
export interface FoundCause {
  name: CauseName;
  what: string | null;
}

/** A line of compose about the progress of one resource, whose name may be anything. */
const progress = /^(?:Container|Network|Volume|Image) \S+ {2}\S/;

const causes = Object.entries(failureCauses) as [CauseName, FailureCause][];

/** The first cause in the output of an engine, compose or docker, line by line; null if none matches. */
export function causeSaid(text: string): FoundCause | null {
  return firstCause(text, ({ said }) => said);
}

/** DISK_INSUFFICIENT for a failure that a full disk has caused, else `code`. */
export function codeOfFailure(text: string, code: string): string {
  return text.split('\n').some((line) => causeSaid(line)?.name === 'disk-full') ? 'DISK_INSUFFICIENT' : code;
}

/** The first cause in the log of a container, which may contain anything: only messages that nothing else prints count. */
export function causePrinted(text: string): FoundCause | null {
  return firstCause(text, ({ printed = [] }) => printed);
}

function firstCause(text: string, patternsOf: (cause: FailureCause) => readonly RegExp[]): FoundCause | null {
  const lines = text.split('\n').map((line) => line.trim());
  for (const line of lines.filter((each) => !progress.test(each)))
    for (const [name, cause] of causes)
      for (const pattern of patternsOf(cause)) {
        const match = pattern.exec(line);
        if (match) return { name, what: match.groups?.['what'] ?? null };
      }
  return null;
}

/** `a port of this host is in use (80); find its user …` */
export function describeCause({ name, what }: FoundCause): string {
  const { cause, cure } = failureCauses[name];
  return `${cause}${what === null ? '' : ` (${visible(what)})`}; ${cure}`;
}

/** The further line of a failure: what became of services, if that is known, and why. */
export function causeLine(cause: FoundCause | null, services = ''): string {
  return `cause: ${[services, cause === null ? '' : describeCause(cause)].filter((part) => part !== '').join(': ')}`;
}

/** The cause in a line of `describeCause`; null without one. */
export function causeTold(line: string): CauseName | null {
  return causes.find(([, { cause }]) => line.includes(cause))?.[0] ?? null;
}
