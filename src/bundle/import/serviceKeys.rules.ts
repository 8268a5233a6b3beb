import { printable, visible } from '../../core/text.rules.ts';
import { modeOf } from '../policy/effect.rules.ts';
import { durationSeconds, maxGracePeriod_s } from '../policy/quantities.rules.ts';
import {
  type ImportWork,
  leaveUndecided,
  type Place,
  type Service,
  servicesOf,
  tellChange,
} from './importWork.rules.ts';
import { type Part, listAt, partAt, removeKeys, textAt } from './model.rules.ts';

/** Takes out what compose accepts on one host and does not do, where nothing depends on it. */
export function removeUselessKeys(work: ImportWork): void {
  for (const service of servicesOf(work)) {
    const { part, owner } = service;
    const tell = (key: string, why: string) => tellChange(work, { owner, key }, ['is left out', why]);
    for (const key of ['cpu_count', 'cpu_percent']) if (removeKeys(part, key)) tell(key, 'only Windows has it');
    const policy = partAt(part, 'deploy', 'restart_policy');
    if (/^(any)?$/.test(textAt(policy, 'condition')) && removeKeys(policy, 'max_attempts'))
      tell('deploy.restart_policy.max_attempts', 'an engine counts attempts only on failure');
    const placement = partAt(part, 'deploy', 'placement');
    const replicas = Number(partAt(part, 'deploy')['replicas'] ?? 1);
    if (replicas > Number(placement['max_replicas_per_node'] ?? Infinity)) {
      removeKeys(placement, 'max_replicas_per_node');
      tell('deploy.placement.max_replicas_per_node', `compose starts ${replicas} on one host`);
    }
    for (const section of ['configs', 'secrets'] as const)
      for (const reference of listAt<Part>(part, section))
        if ('file' in partAt(work.model[section], textAt(reference, 'source')))
          removeOwner(work, { reference, owner, section });
  }
}

/** Owner and mode of a mounted file that everybody may read and nobody runs. */
function removeOwner(
  work: ImportWork,
  { reference, owner, section }: { reference: Part; owner: string; section: string },
): void {
  const written = reference['mode'];
  const mode = typeof written === 'string' ? modeOf(written) : ((written ?? 0o444) as number);
  if (mode === null || (mode & 0o444) !== 0o444) return;
  for (const key of ['uid', 'gid']) {
    if (!removeKeys(reference, key)) continue;
    const shown = written === undefined ? '' : ` (0${mode.toString(8)})`;
    const why = `everybody may read the file${shown}, and compose changes no owner`;
    tellChange(work, { owner, key: `${section}.${key}` }, ['is left out', why]);
  }
}

/** Takes the empty names out of `profiles` that have others: nobody can choose such a profile. */
export function removeEmptyProfiles(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work)) {
    const profiles = listAt<string>(part, 'profiles');
    const named = profiles.filter(Boolean);
    if (named.length === 0 || named.length === profiles.length) continue;
    part['profiles'] = named;
    tellChange(work, { owner, key: 'profiles' }, ['the empty name is left out', 'nobody can choose it']);
  }
}

/** Takes out log drivers that send logs elsewhere: the engine keeps them on the host. */
export function removeLogDrivers(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work)) {
    const driver = textAt(partAt(part, 'logging'), 'driver');
    if (/^(json-file|local|journald|none)?$/.test(driver)) continue;
    removeKeys(part, 'logging');
    const what = `the driver ${printable(driver)} is left out`;
    tellChange(work, { owner, key: 'logging' }, [what, 'no host permits it; the logs stay on the host']);
  }
}

/** Shortens stop grace periods to the longest that a host waits for. */
export function shortenStopPeriods(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work)) {
    const written = textAt(part, 'stop_grace_period');
    if ((durationSeconds(written) ?? 0) <= maxGracePeriod_s) continue;
    part['stop_grace_period'] = `${maxGracePeriod_s}s`;
    const what = `${printable(written)} is ${maxGracePeriod_s}s now`;
    tellChange(work, { owner, key: 'stop_grace_period' }, [what, 'a host waits no longer']);
  }
}

const place = { owner: 'manifest', key: 'profiles' };

/** The chosen profiles that services have; `*` chooses all, as it does for compose. Reports inactive services. */
export function chooseProfiles(work: ImportWork): string[] {
  const known = [...new Set(servicesOf(work).flatMap(({ part }) => listAt<string>(part, 'profiles')))];
  const { names, by } = work.choices.profiles;
  const chosen = known.filter((name) => names.includes(name) || names.includes('*'));
  for (const name of names.filter((one) => one !== '*' && !known.includes(one)))
    leaveUndecided(work, place, [`no service has the profile ${printable(name)}`, `take it out of ${by}`]);
  if (chosen.length > 0) tellChange(work, place, [printable(chosen.join(', ')), `chosen by ${by}`]);
  work.report.inactive_profiles.push(...known.filter((name) => !chosen.includes(name)));
  return chosen;
}

/**
 * Leaves services with a read-only filesystem to decide that have a config or secret which is not a file: compose copies it
 * into the container, which the engine refuses.
 */
export function findReadOnlyServices(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work))
    for (const section of part['read_only'] === true ? (['secrets', 'configs'] as const) : [])
      for (const source of listAt<Part>(part, section).map((reference) => textAt(reference, 'source'))) {
        const content = partAt(work.model[section], source);
        if ('file' in content || !('environment' in content || 'content' in content)) continue;
        leaveUndecided(work, { owner, key: 'read_only' }, [
          `compose cannot copy the ${section.slice(0, -1)} ${printable(source)} into it`,
          'leave read_only out, or give the service its content by a file or by environment',
        ]);
      }
}

/** Gives services the images that were chosen or pinned, and takes `build` out where there is an image. */
export function replaceBuilds(work: ImportWork): void {
  const { images, pins } = work.choices;
  for (const { name, owner, part } of servicesOf(work)) {
    const at: Place = { owner, key: 'image' };
    const pin = pins?.get(name);
    const image = pin !== undefined && 'reference' in pin ? pin.reference : images.get(name);
    if (image !== undefined) {
      part['image'] = image.replaceAll('$', '$$$$');
      const why = pin === undefined ? 'it was chosen' : 'that is its digest now';
      tellChange(work, at, [visible(image), why]);
    }
    if (pin !== undefined && 'fault' in pin)
      leaveUndecided(work, at, [`it is not pinned: ${pin.fault}`, 'write its digest into the compose file']);
    removeBuild({ name, owner, part }, work);
  }
}

function removeBuild({ name, owner, part }: Service, work: ImportWork): void {
  if (part['build'] === undefined) return;
  const isLacking = part['image'] === undefined;
  const why = 'hosts run images and do not build them';
  if (isLacking)
    leaveUndecided(work, { owner, key: 'build' }, [
      why,
      `--image ${name}=REFERENCE with the image that its build pushes`,
    ]);
  else
    tellChange(work, { owner, key: 'build' }, [`is left out; push the image ${printable(textAt(part, 'image'))}`, why]);
  removeKeys(part, 'develop', ...(isLacking ? [] : ['build']));
}

/** Reserves GPUs for the services of NVIDIA's runtime, which a host can permit by the name of the service. */
export function replaceGpuRuntime(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work)) {
    if (part['runtime'] !== 'nvidia') continue;
    removeKeys(part, 'runtime');
    const deploy = partAt(part, 'deploy');
    const reservations = partAt(deploy, 'resources', 'reservations');
    const devices = reservations['devices'] ?? [{ driver: 'nvidia', count: 'all', capabilities: ['gpu'] }];
    const resources = { ...partAt(deploy, 'resources'), reservations: { ...reservations, devices } };
    if (!('gpus' in part)) part['deploy'] = { ...deploy, resources };
    const what = 'nvidia is a reservation of all GPUs now';
    tellChange(work, { owner, key: 'runtime' }, [what, 'a host permits GPUs, but no runtimes']);
  }
}
