import { isMap, isSeq, type Node, YAMLSeq } from 'yaml';
import { printable } from '../../core/text.rules.ts';
import { modeOf } from '../policy/effect.rules.ts';
import { durationSeconds, maxGracePeriod_s } from '../policy/quantities.rules.ts';
import { type ImportWork, leaveUndecided, type Place, tellChange } from './importWork.rules.ts';
import { mountTargetsOf } from './bindMounts.rules.ts';
import { bindSourceOf } from './readProject.rules.ts';
import {
  effectiveOf,
  ownerOf,
  ownMapOf,
  type ProjectService,
  serviceNamesOf,
  type ServicePart,
  servicePartsOf,
  servicesOf,
} from './projectDocument.rules.ts';
import {
  effectivePair,
  isNullAt,
  itemsAt,
  type ListNode,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  resolve,
  setValue,
  textAt,
  valueAt,
  writtenOut,
} from './yamlNodes.rules.ts';

/** Takes out what compose accepts on one host and does not do, where nothing depends on it. */
export function removeUselessKeys(work: ImportWork): void {
  const mounted = mountedContents(work);
  for (const part of servicePartsOf(work.documents)) {
    removeWindowsKeys(work, part);
    removeAttempts(work, part);
    removeMaxReplicas(work, part);
    for (const section of ['configs', 'secrets']) {
      for (const item of itemsAt(valueAt(part.map, part.document, section), part.document)) {
        const reference = mapAt(item, part.document);
        const source = textAt(valueAt(reference, part.document, 'source'), part.document) ?? '';
        if (reference !== null && mounted.has(`${section} ${source}`)) removeOwner(work, { part, section, reference });
      }
    }
  }
}

/** Configs and secrets that are files of the bundle. */
function mountedContents({ documents }: ImportWork): ReadonlySet<string> {
  const names = documents.flatMap((document) =>
    ['configs', 'secrets'].flatMap((section) =>
      (mapAt(valueAt(document.root, document, section), document)?.items ?? []).flatMap(({ key, value }) =>
        valueAt(value, document, 'file') === null ? [] : [`${section} ${key.value}`],
      ),
    ),
  );
  return new Set(names);
}

function removeWindowsKeys(work: ImportWork, { map, owner }: ServicePart): void {
  for (const key of ['cpu_count', 'cpu_percent'])
    if (removeKey(map, key)) tellChange(work, { owner, key }, ['is left out', 'only Windows has it']);
}

function removeAttempts(work: ImportWork, { map, document, owner }: ServicePart): void {
  const policy = mapAt(valueAt(map, document, 'deploy', 'restart_policy'), document);
  const condition = textAt(valueAt(policy, document, 'condition'), document) ?? 'any';
  if (condition !== 'any' || !removeKey(policy, 'max_attempts')) return;
  const key = 'deploy.restart_policy.max_attempts';
  tellChange(work, { owner, key }, ['is left out', 'an engine counts attempts only on failure']);
}

function removeMaxReplicas(work: ImportWork, { map, document, owner }: ServicePart): void {
  const key = 'deploy.placement.max_replicas_per_node';
  const placement = mapAt(valueAt(map, document, 'deploy', 'placement'), document);
  const most = Number(textAt(valueAt(placement, document, 'max_replicas_per_node'), document) ?? 0);
  const replicas = Number(textAt(valueAt(map, document, 'deploy', 'replicas'), document) ?? 1);
  if (most === 0 || replicas <= most || !removeKey(placement, 'max_replicas_per_node')) return;
  tellChange(work, { owner, key }, ['is left out', `compose starts ${replicas} on one host`]);
}

/** Owner and mode of a mounted file that everybody may read and nobody runs. */
function removeOwner(
  work: ImportWork,
  { part, section, reference }: { part: ServicePart; section: string; reference: MapNode },
): void {
  const { document, owner } = part;
  const written = textAt(valueAt(reference, document, 'mode'), document);
  const mode = written === null ? 0o444 : modeOf(written);
  if (mode === null || (mode & 0o444) !== 0o444) return;
  for (const key of ['uid', 'gid']) {
    if (!removeKey(reference, key)) continue;
    const why = `everybody may read the file${written === null ? '' : ` (${printable(written)})`}, and compose changes no owner`;
    tellChange(work, { owner, key: `${section}.${key}` }, ['is left out', why]);
  }
}

/** Keys of a service that compose lets be null. */
const nullableKeys: ReadonlySet<string> = new Set(['<<', 'command', 'deploy', 'develop', 'entrypoint']);

/** Takes out keys of services that have no value, as where all of it is a comment; compose refuses them. */
export function removeEmptyKeys(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    for (const { key, value } of map.items.slice()) {
      if (nullableKeys.has(key.value) || !isNullAt(value, document)) continue;
      removeKey(map, key.value);
      tellChange(work, { owner, key: key.value }, ['is left out', 'it has no value']);
    }
  }
}

/** Takes the empty names out of `profiles` that have others: nobody can choose such a profile. */
export function removeEmptyProfiles(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const profiles = resolve(valueAt(map, document, 'profiles'), document);
    const all = itemsAt(profiles, document);
    const named = all.filter((profile) => textAt(profile, document) !== '');
    if (!isSeq(profiles) || named.length === 0 || named.length === all.length) continue;
    profiles.items = named;
    tellChange(work, { owner, key: 'profiles' }, ['the empty name is left out', 'nobody can choose it']);
  }
}

/** Takes out log drivers that send logs elsewhere: the engine keeps them on the host. */
export function removeLogDrivers(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const driver = textAt(valueAt(map, document, 'logging', 'driver'), document) ?? '';
    if (/^(json-file|local|journald|none)?$/.test(driver) || !removeKey(map, 'logging')) continue;
    const what = `the driver ${printable(driver)} is left out`;
    tellChange(work, { owner, key: 'logging' }, [what, 'no host permits it; the logs stay on the host']);
  }
}

/** Shortens stop grace periods to the longest that a host waits for. */
export function shortenStopPeriods(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const written = textAt(valueAt(map, document, 'stop_grace_period'), document) ?? '';
    if ((durationSeconds(written) ?? 0) <= maxGracePeriod_s) continue;
    setValue(map, 'stop_grace_period', newScalar(`${maxGracePeriod_s}s`));
    tellChange(work, { owner, key: 'stop_grace_period' }, [
      `${printable(written)} is ${maxGracePeriod_s}s now`,
      'a host waits no longer',
    ]);
  }
}

const place = { owner: 'manifest', key: 'profiles' };

/** The chosen profiles that services have; `*` chooses all, as it does for compose. Reports inactive services. */
export function chooseProfiles(work: ImportWork): string[] {
  const known = profilesOf(work);
  const { names, by } = work.choices.profiles;
  const chosen = known.filter((name) => names.includes(name) || names.includes('*'));
  for (const name of names.filter((one) => one !== '*' && !known.includes(one)))
    leaveUndecided(work, place, [`no service has the profile ${printable(name)}`, `take it out of ${by}`]);
  if (chosen.length > 0) tellChange(work, place, [printable(chosen.join(', ')), `chosen by ${by}`]);
  work.report.inactive_profiles.push(...known.filter((name) => !chosen.includes(name)));
  return chosen;
}

function profilesOf({ documents }: ImportWork): string[] {
  const names = servicePartsOf(documents).flatMap(({ map, document }) =>
    itemsAt(valueAt(map, document, 'profiles'), document).flatMap((item) => textAt(item, document) ?? []),
  );
  return [...new Set(names)];
}

/**
 * Leaves services with a read-only filesystem to decide that have a config or secret which is not a file: compose copies it
 * into the container, which the engine refuses.
 */
export function findReadOnlyServices(work: ImportWork): void {
  for (const service of serviceNamesOf(work.documents)) {
    const found = effectiveOf(work.documents, service, 'read_only');
    const isReadOnly = /^(true|yes|on|y)$/i.test(found === null ? '' : (textAt(found.value, found.document) ?? ''));
    const copied = isReadOnly
      ? [...copiedContents(service, 'secret', work), ...copiedContents(service, 'config', work)]
      : [];
    for (const content of copied)
      leaveUndecided(work, { owner: ownerOf([service]), key: 'read_only' }, [
        `compose cannot copy the ${content} into it`,
        'leave read_only out, or give the service its content by a file or by environment',
      ]);
  }
}

/** Names of the contents of a service that are not files, with their kind. */
function copiedContents(service: string, kind: 'secret' | 'config', { documents }: ImportWork): string[] {
  const found = effectiveOf(documents, service, `${kind}s`);
  if (found === null) return [];
  return itemsAt(found.value, found.document).flatMap((item) => {
    const name = textAt(valueAt(item, found.document, 'source') ?? item, found.document);
    const has = (key: string) =>
      documents.some((document) => valueAt(document.root, document, `${kind}s`, name ?? '', key) !== null);
    return name !== null && (has('environment') || has('content')) && !has('file')
      ? [`${kind} ${printable(name)}`]
      : [];
  });
}

/** Gives services the images that were chosen or pinned, and takes `build` out where there is an image. */
export function replaceBuilds(work: ImportWork): void {
  const { documents, choices } = work;
  for (const [name, image] of choices.images) setImage(work, { name, image, why: 'it was chosen' });
  for (const [name, pin] of choices.pins ?? [])
    if ('reference' in pin) setImage(work, { name, image: pin.reference, why: 'that is its digest now' });
    else
      leaveUndecided(work, imageOf(name), [`it is not pinned: ${pin.fault}`, 'write its digest into the compose file']);
  const built = new Set(serviceNamesOf(documents).filter((name) => effectiveOf(documents, name, 'build') !== null));
  const imageTextOf = (name: string) => {
    const found = effectiveOf(documents, name, 'image');
    return found === null ? null : textAt(found.value, found.document);
  };
  const lacking = [...built].filter((name) => imageTextOf(name) === null);
  for (const name of lacking)
    leaveUndecided(work, { owner: `service ${name}`, key: 'build' }, [
      'hosts run images and do not build them',
      `--image ${name}=REFERENCE with the image that its build pushes`,
    ]);
  for (const { map, names } of servicePartsOf(documents)) {
    if (names.some((name) => lacking.includes(name))) continue;
    if (!removeKey(map, 'build')) continue;
    removeKey(map, 'develop');
    for (const name of names)
      tellChange(work, { owner: `service ${name}`, key: 'build' }, [
        `is left out; push the image ${printable(imageTextOf(name) ?? '')}`,
        'hosts run images and do not build them',
      ]);
  }
}

function setImage(work: ImportWork, { name, image, why }: { name: string; image: string; why: string }): void {
  const service = work.documents.flatMap(servicesOf).findLast((one) => one.name === name);
  if (service === undefined) return;
  setValue(ownMapOf(service), 'image', newScalar(image.replaceAll('$', '$$$$')));
  tellChange(work, imageOf(name), [printable(image), why]);
}

/** Where reports name the image of a service. */
function imageOf(name: string): Place {
  return { owner: `service ${name}`, key: 'image' };
}

/** Reserves GPUs for the services of NVIDIA's runtime, which a host can permit by the name of the service. */
export function replaceGpuRuntime(work: ImportWork): void {
  for (const service of work.documents.flatMap(servicesOf)) {
    const { name, layers, document } = service;
    if (textAt(effectivePair(layers, 'runtime')?.value, document) !== 'nvidia') continue;
    reserveGpus(service);
    const what = 'nvidia is a reservation of all GPUs now';
    tellChange(work, { owner: `service ${name}`, key: 'runtime' }, [what, 'a host permits GPUs, but no runtimes']);
  }
  for (const { map, document } of servicePartsOf(work.documents))
    if (textAt(valueAt(map, document, 'runtime'), document) === 'nvidia') removeKey(map, 'runtime');
}

/** Adds `deploy.resources.reservations.devices`, unless the service has some or `gpus`. */
function reserveGpus(service: ProjectService): void {
  const { layers, document } = service;
  const before = effectivePair(layers, 'deploy')?.value ?? null;
  const hasSome = valueAt(before, document, 'resources', 'reservations', 'devices') !== null;
  if (hasSome || effectivePair(layers, 'gpus') !== null) return;
  const written = writtenOut(before, document);
  const deploy = isMap(written) ? (written as MapNode) : newMap();
  setValue(below(below(deploy, 'resources'), 'reservations'), 'devices', listOf([allGpus()]));
  setValue(ownMapOf(service), 'deploy', deploy);
}

function allGpus(): MapNode {
  const device = newMap();
  setValue(device, 'driver', newScalar('nvidia'));
  setValue(device, 'count', plainScalar('all'));
  setValue(device, 'capabilities', listOf([newScalar('gpu')]));
  return device;
}

function below(map: MapNode, key: string): MapNode {
  const found = ownValue(map, key);
  const inner = isMap(found) ? (found as MapNode) : newMap();
  setValue(map, key, inner);
  return inner;
}

function listOf(items: Node[]): ListNode {
  const list = new YAMLSeq<Node>();
  list.items = items;
  return list;
}

/** Makes devices of mounted device files, which a host can permit by name, unless they take the place of another mount. */
export function replaceDeviceMounts(work: ImportWork): void {
  for (const part of servicePartsOf(work.documents)) {
    const volumes = ownList(part, 'volumes');
    const isOwn = (owner: string) => part.names.some((name) => ` ${owner.replaceAll(',', ' ')} `.includes(` ${name} `));
    const targets = mountTargetsOf(work).flatMap(({ owner, target }) => (isOwn(owner) ? [target] : []));
    const isDevice = (device: string | null) =>
      device !== null && targets.filter((target) => device.endsWith(`:${target}`)).length < 2;
    const mounts = volumes?.items.filter((mount) => isDevice(deviceOf(mount, part))) ?? [];
    if (volumes === null || mounts.length === 0) continue;
    const devices = ownList(part, 'devices') ?? new YAMLSeq<Node>();
    const all = mounts.flatMap((mount) => deviceOf(mount, part) ?? []);
    devices.items.push(...all.map(newScalar));
    setValue(part.map, 'devices', devices);
    volumes.items = volumes.items.filter((mount) => !mounts.includes(mount));
    if (volumes.items.length === 0) removeKey(part.map, 'volumes');
    for (const device of all)
      tellChange(work, { owner: part.owner, key: 'volumes' }, [
        `${printable(device)} is under devices now`,
        'it is a device file',
      ]);
  }
}

/** A list in the mapping itself, not in an alias. */
function ownList({ map }: ServicePart, key: string): ListNode | null {
  const value = ownValue(map, key);
  return isSeq(value) ? (value as ListNode) : null;
}

/** A mount of a device file as `devices` has it; null for any other mount. */
function deviceOf(mount: Node, { document }: ServicePart): string | null {
  const [source] = bindSourceOf(mount, document);
  if (source === undefined) return null;
  const [from = '', short = ''] = source.value.split(':');
  const target = textAt(valueAt(mount, document, 'target'), document) ?? short;
  return /^\/dev\/(?!shm(\/|$))[^$]+$/.test(from) && !target.includes('$') ? `${from}:${target}` : null;
}
