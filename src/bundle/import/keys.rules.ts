import { printable, visible } from '../../core/text.rules.ts';
import { modeOf } from '../policy/effect.rules.ts';
import { isUnseen, normalizeHostPath } from '../policy/policyHost.rules.ts';
import { durationSeconds, maxGracePeriod_s } from '../policy/quantities.rules.ts';
import { isPrivateSubnet } from '../policy/topLevel.rules.ts';
import {
  change,
  type Effect,
  type ImportWork,
  joinPath,
  leaveUndecided,
  type NamedPart,
  partsOf,
} from './importWork.rules.ts';
import { type Part, listAt, partAt, removeKeys, textAt } from './model.rules.ts';
import { directoryUse } from './mounts.rules.ts';

/** Replaces keys that no host does as they are written, or that have no effect on one host. */
export function replaceKeys(work: ImportWork): void {
  for (const section of ['volumes', 'networks', 'services'] as const)
    for (const named of partsOf(work, section))
      for (const [key, find] of rules[section]) {
        const keys = key.split('.');
        const last = keys.pop() ?? '';
        const value = textAt(partAt(named.part, ...keys), last);
        const leaveOut: Effect = (part) => removeKeys(partAt(part, ...keys), last);
        const [what, why, effect = leaveOut] = find(named.part, { value, work, key, ...named }) ?? [];
        if (what === undefined || why === undefined) continue;
        change(work, { owner: named.owner, key }, [what, why], effect);
        if (key === 'external')
          work.report.undecided = work.report.undecided.filter(({ owner }) => owner !== named.owner);
      }
}

/** A change of a key, its reason, and its effect, which by default leaves the key out; null if the key stays. */
type Found = [what: string, why: string, effect?: Effect] | null;
/** Finds the new value of a key of a part; `value` is the text under it. */
type Rule = (part: Part, context: { value: string; work: ImportWork; key: string } & NamedPart) => Found;

const onlyWindows: Rule = (_, { value }) => (value === '' ? null : ['is left out', 'only Windows has it']);

const rules: Readonly<Record<'services' | 'volumes' | 'networks', readonly [key: string, find: Rule][]>> = {
  volumes: [
    ['driver', withoutPersistDriver],
    ['driver_opts', withoutOwnDirectory],
    ['external', fromOutside],
  ],
  networks: [
    ['driver', withoutOverlay],
    ['driver_opts', withoutBridgeName],
    ['external', fromOutside],
  ],
  services: [
    ['profiles', withoutEmptyProfiles],
    ['network_mode', (part, context) => (context.value === 'bridge' ? ownNetwork : ownNamespace(part, context))],
    ['pid', ownNamespace],
    ['ipc', ownNamespace],
    ['runtime', (_, { value }) => (value === 'nvidia' ? reservedGpus : null)],
    ['stop_grace_period', withShorterStop],
    ['logging', withoutLogDriver],
    ['cpu_count', onlyWindows],
    ['cpu_percent', onlyWindows],
    ['deploy.restart_policy.max_attempts', withoutAttempts],
    ['deploy.placement.max_replicas_per_node', withoutReplicasPerNode],
  ],
};

/** Nobody can choose a profile with an empty name; without another name compose starts the service always. */
function withoutEmptyProfiles(part: Part): Found {
  const profiles = listAt<string>(part, 'profiles');
  const named = profiles.filter(Boolean);
  if (named.length === 0 || named.length === profiles.length) return null;
  return ['the empty name is left out', 'nobody can choose it', (service) => (service['profiles'] = named)];
}

/** Instead of the engine's own bridge. */
const ownNetwork: Found = [
  'bridge is left out; networks has default now',
  'containers of all projects share it',
  (service, { networks }) => {
    removeKeys(service, 'network_mode');
    service['networks'] = { default: null };
    networks['default'] ??= {};
  },
];

/** A service joins a container of its project by the service that it belongs to, which compose takes for a dependency. */
function ownNamespace(_: Part, { key, value, work }: Parameters<Rule>[1]): Found {
  const joined = partsOf(work).find((one) => `container:${textAt(one.part, 'container_name')}` === value)?.name;
  if (joined === undefined || value === 'container:') return null;
  const what = `${printable(value)} is written as service:${printable(joined)}, with depends_on`;
  const dependency = { [joined]: { condition: 'service_started', restart: true } };
  const effect: Effect = (service) => {
    service[key] = `service:${joined}`;
    service['depends_on'] = { ...dependency, ...partAt(service, 'depends_on') };
  };
  return [what, 'the container belongs to the project', effect];
}

/** A host can permit GPUs by the name of the service. */
const reservedGpus: Found = [
  'nvidia is a reservation of all GPUs under deploy now',
  'a host permits GPUs, but no runtimes',
  (service) => {
    removeKeys(service, 'runtime');
    if ('gpus' in service) return;
    const deploy = partAt(service, 'deploy');
    const reservations = partAt(deploy, 'resources', 'reservations');
    const devices = reservations['devices'] ?? [{ driver: 'nvidia', count: 'all', capabilities: ['gpu'] }];
    const resources = { ...partAt(deploy, 'resources'), reservations: { ...reservations, devices } };
    service['deploy'] = { ...deploy, resources };
  },
];

function withShorterStop(_: Part, { value }: { value: string }): Found {
  if ((durationSeconds(value) ?? 0) <= maxGracePeriod_s) return null;
  // In the form of compose.
  const longest = `${maxGracePeriod_s / 60}m0s`;
  const what = `${printable(value)} is ${maxGracePeriod_s}s now`;
  return [what, 'a host waits no longer', (service) => (service['stop_grace_period'] = longest)];
}

/** Log drivers that send logs elsewhere: the engine keeps them on the host. */
function withoutLogDriver(part: Part): Found {
  const driver = textAt(partAt(part, 'logging'), 'driver');
  if (/^(json-file|local|journald|none)?$/.test(driver)) return null;
  return [`the driver ${printable(driver)} is left out`, 'no host permits it; the logs stay on the host'];
}

function withoutAttempts(part: Part, { value }: { value: string }): Found {
  const isOnFailure = !/^(any)?$/.test(textAt(partAt(part, 'deploy', 'restart_policy'), 'condition'));
  return isOnFailure || value === '' ? null : ['is left out', 'an engine counts attempts only on failure'];
}

function withoutReplicasPerNode(part: Part, { value }: { value: string }): Found {
  const replicas = Number(partAt(part, 'deploy')['replicas'] ?? 1);
  return value !== '' && replicas > Number(value) ? ['is left out', `compose starts ${replicas} on one host`] : null;
}

/** Leaves out the owner of a mounted file that everybody may read: compose changes no owner. */
export function removeOwners(work: ImportWork): void {
  for (const { part, owner } of partsOf(work))
    for (const section of ['configs', 'secrets'] as const)
      for (const { source, mode: written, ...reference } of listAt<Part>(part, section)) {
        const mode = typeof written === 'string' ? modeOf(written) : ((written ?? 0o444) as number);
        const isFile = 'file' in partAt(work.model[section], String(source));
        if (!isFile || mode === null || (mode & 0o444) !== 0o444) continue;
        const shown = written === undefined ? '' : ` (0${mode.toString(8)})`;
        const why = `everybody may read the file${shown}, and compose changes no owner`;
        for (const key of ['uid', 'gid'].filter((each) => each in reference))
          change(work, { owner, key: section }, [`${key} of ${String(source)} is left out`, why], (service) => {
            for (const one of listAt<Part>(service, section)) if (one['source'] === source) removeKeys(one, key);
          });
      }
}

const place = { owner: 'manifest', key: 'profiles' };

/** The chosen profiles that services have; `*` chooses all, as it does for compose. Reports inactive services. */
export function chooseProfiles(work: ImportWork): string[] {
  const known = [...new Set(partsOf(work).flatMap(({ part }) => listAt<string>(part, 'profiles')))];
  const { names, by } = work.choices.profiles;
  const chosen = known.filter((name) => names.includes(name) || names.includes('*'));
  for (const name of names.filter((one) => one !== '*' && !known.includes(one)))
    leaveUndecided(work, place, [`no service has the profile ${printable(name)}`, `take it out of ${by}`]);
  if (chosen.length > 0) change(work, place, [printable(chosen.join(', ')), `chosen by ${by}`]);
  const { unread } = work.choices.profiles;
  if (unread)
    change(work, place, ['other profiles are left out; --profile NAME chooses one', `of all, compose says: ${unread}`]);
  work.report.inactive_profiles.push(...known.filter((name) => !chosen.includes(name)));
  return chosen;
}

/** Gives services the images that were chosen or pinned, takes `build` out where there is an image, and `models`. */
export function replaceBuilds(work: ImportWork): void {
  const { images, pins } = work.choices;
  const built = 'hosts run images and do not build them';
  for (const { name, owner, part } of partsOf(work)) {
    const pin = pins?.get(name);
    const chosen = pin !== undefined && 'reference' in pin ? pin.reference : images.get(name);
    const at = { owner, key: 'image' };
    if (chosen !== undefined) {
      const why = pin === undefined ? 'it was chosen' : 'that is its digest now';
      change(work, at, [visible(chosen), why], (service) => (service['image'] = chosen.replaceAll('$', '$$$$')));
    }
    if (pin !== undefined && 'fault' in pin)
      leaveUndecided(work, at, [`it is not pinned: ${pin.fault}`, 'write its digest into the compose file']);
    const address = 'run them as a service, or give their address as a variable';
    if (removeKeys(part, 'models')) leaveUndecided(work, { owner, key: 'models' }, ['hosts run no models', address]);
    if (part['build'] === undefined) continue;
    const cure = `--image ${name}=REFERENCE with the image that its build pushes`;
    const more = part['develop'] === undefined ? '' : ', with develop';
    const what = `is left out${more}; push the image ${printable(textAt(part, 'image'))}`;
    if (part['image'] === undefined) leaveUndecided(work, { owner, key: 'build' }, [built, cure]);
    else change(work, { owner, key: 'build' }, [what, built], (service) => removeKeys(service, 'build', 'develop'));
  }
}

/** A host permits directories, but no drivers. */
function withoutPersistDriver(part: Part, { value }: { value: string }): Found {
  const device = textAt(partAt(part, 'driver_opts'), 'mountpoint');
  if (value !== 'local-persist' || device === '') return null;
  const told = `local-persist is a bind of ${printable(device)} by driver_opts now`;
  const bind = { driver: 'local', driver_opts: { type: 'none', o: 'bind', device } };
  return [told, 'a host permits directories, but no drivers', (volume) => Object.assign(volume, bind)];
}

/** Directories of the project, of a home directory and of `/tmp` become volumes of the engine. */
function withoutOwnDirectory(part: Part, { work, owner }: Parameters<Rule>[1]): Found {
  const options = partAt(part, 'driver_opts');
  const device = textAt(options, 'device');
  const isBind = textAt(options, 'o').split(',').includes('bind') && device !== '' && !device.includes('$');
  if (!isBind || (device.startsWith('/') && !isUnseen(normalizeHostPath(device)))) return null;
  const path = joinPath('.', device);
  const isDirectory = !/^[/~]/.test(device) && work.tree.kindOf(path) === 'directory';
  const isConfig = isDirectory && directoryUse(work.tree.filesBelow(path), '') === 'config';
  const told = `${printable(device)} is a volume of the engine now, with its driver`;
  if (!isConfig) return [told, 'copy what is there into it', withoutDriver];
  const open: [string, string] = [`${printable(device)} holds configuration`, 'mount it by its path instead'];
  leaveUndecided(work, { owner, key: 'driver_opts' }, open);
  return null;
}

const withoutDriver: Effect = (part) => removeKeys(part, 'driver', 'driver_opts');

function withoutOverlay(part: Part, { value }: { value: string }): Found {
  const told = `overlay is left out${'driver_opts' in part ? ', with its driver_opts' : ''}`;
  const why = 'a bundle runs on one host, which is not a swarm';
  return value === 'overlay' ? [told, why, withoutDriver] : null;
}

const bridgeName = 'com.docker.network.bridge.name';

function withoutBridgeName(part: Part): Found {
  const effect: Effect = (network) => removeKeys(partAt(network, 'driver_opts'), bridgeName);
  if (!(bridgeName in partAt(part, 'driver_opts'))) return null;
  return [`${bridgeName} is left out`, 'no host permits it; the engine names the bridge', effect];
}

/**
 * Takes volumes and networks that no host permits to a bundle from outside the project, such as shares and networks on
 * a device of the host. Their operator creates them, and permits them by the names that compose gave them.
 */
function fromOutside(part: Part, { work, name, owner }: Parameters<Rule>[1]): Found {
  const [kind = ''] = owner.split(' ');
  const isOfHost = kind === 'volume' ? isShare(part) : isHostNetwork(part);
  const isKept = kind === 'volume' && work.choices.keepVolumes && !isNewVolume(name, part, work);
  if (part['external'] === true || !(isOfHost || isKept)) return null;
  const own = nameIn(work.choices.projectName, name, part);
  const lost = Object.keys(part).filter((key) => key !== 'name');
  const without = lost.length === 0 ? '' : `, without ${lost.join(', ')}`;
  const what = `is the ${kind} with the name ${printable(own)} from outside the project now${without}`;
  const effect: Effect = (resource) => {
    removeKeys(resource, ...Object.keys(resource));
    Object.assign(resource, { name: own, external: true });
  };
  return isOfHost
    ? [`${what}; make it there as the project has it (docker ${kind} create)`, ofHost, effect]
    : [what, 'it has the data of the running project', effect];
}

const ofHost = 'no host permits its driver, options or addresses to a bundle';

/** The name that compose gives a part of a project. */
function nameIn(project: string, name: string, part: Part = {}): string {
  return textAt(part, 'name') || `${project}_${name}`;
}

/** Whether a volume is neither the engine's own, nor one in memory, nor a directory. */
function isShare(part: Part): boolean {
  const type = textAt(partAt(part, 'driver_opts'), 'type') || 'tmpfs';
  return !/^(local)?$/.test(textAt(part, 'driver')) || !/^(tmpfs|none)$/.test(type);
}

function isHostNetwork(part: Part): boolean {
  const subnets = listAt<Part>(partAt(part, 'ipam'), 'config').map((config) => textAt(config, 'subnet'));
  const isOpen = subnets.some((subnet) => subnet !== '' && !subnet.includes('$') && !isPrivateSubnet(subnet));
  return isOpen || /^(macvlan|ipvlan)$/.test(textAt(part, 'driver'));
}

/** Whether the running project has no volume of this name, or one in memory. */
function isNewVolume(name: string, part: Part, { volumes }: ImportWork): boolean {
  return [...volumes.values()].includes(name) || partAt(part, 'driver_opts')['type'] === 'tmpfs';
}

/** Finds volumes and networks whose names change with the name of the project, and directories that became volumes. */
export function findRenamed(work: ImportWork): void {
  const { tree, choices, report, volumes } = work;
  const project = `deployd-${choices.env}`;
  for (const [section, kind] of [
    ['volumes', 'volume'],
    ['networks', 'network'],
  ] as const)
    for (const { name, part } of partsOf(work, section)) {
      if ('name' in part || 'external' in part || isNewVolume(name, part, work)) continue;
      // Every project has a network with this name, which others seldom join.
      if (name === 'default' && Object.keys(part).length === 0) continue;
      report.renamed.push({ kind, from: nameIn(choices.projectName, name), to: nameIn(project, name) });
    }
  for (const [path, name] of volumes)
    if (path.startsWith('~') || (!path.startsWith('/') && tree.kindOf(path) === 'directory'))
      report.renamed.push({ kind: 'directory', from: path, to: nameIn(project, name) });
}
