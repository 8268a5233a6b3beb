import { type Refusal, refusalWith } from '../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../machines/types.ts';
import type { Denial } from '../../api/hostPolicy.rules.ts';
import { formatSize } from '../../core/text.rules.ts';
import { scopeOf } from '../../registry/imageReference.rules.ts';

/** Space that a pull needs, and the filesystems that it writes to. */
export interface DiskSpace {
  /** `disk_need_bytes` of the manifest; null when it is not declared. */
  needBytes: number | null;
  headroomBytes: number;
  filesystems: readonly {
    device: string | number | null;
    paths: readonly string[];
    /** Null when it could not be determined. */
    freeBytes: number | null;
  }[];
}

/** During a pull, an image is on disk packed and unpacked (spec §9). */
const needFactor = 1.5;

/** DISK_INSUFFICIENT unless each filesystem has 1.5 × the declared need plus the headroom; null when all have. */
export function validateDiskSpace({ needBytes, headroomBytes, filesystems }: DiskSpace): Refusal | null {
  const required = requiredBytes({ needBytes, headroomBytes });
  const sum =
    needBytes === null
      ? 'headroom alone'
      : `${needFactor} × ${formatSize(needBytes, Math.ceil)} declared + ${formatSize(headroomBytes, Math.ceil)} headroom`;
  const faults = filesystems.flatMap(({ paths, freeBytes }) => {
    const where = paths.join(', ');
    if (freeBytes === null) return [`the free space is unknown on ${where}`];
    if (freeBytes >= required) return [];
    return [`needs ${formatSize(required, Math.ceil)} on ${where} (${sum}), ${formatSize(freeBytes, Math.floor)} free`];
  });
  if (filesystems.length === 0) faults.push('no filesystem could be checked');
  const cure =
    'remove images that no container uses (sudo docker image prune --all), free other space, or correct disk_need_bytes';
  return faults.length === 0
    ? null
    : refusalWith(
        'DISK_INSUFFICIENT',
        faults.map((text) => ({ text, cure })),
      );
}

/** Bytes that must be free on each filesystem. */
export function requiredBytes({ needBytes, headroomBytes }: Pick<DiskSpace, 'needBytes' | 'headroomBytes'>): number {
  return (needBytes ?? 0) * needFactor + headroomBytes;
}

/** A named volume as a bundle declares it. */
export interface DeclaredVolume {
  key: string;
  /** Its `name:`; null when the name is the key with the project's prefix. */
  name: string | null;
  driver: string | null;
  driver_opts: Record<string, string>;
}

/** A named volume on the engine. */
export interface ExistingVolume {
  name: string;
  driver: string;
  options: Record<string, string>;
}

/** VOLUME_DIVERGED when compose would have to recreate an existing volume, which loses its data; else null. */
export function validateVolumes(
  declared: readonly DeclaredVolume[],
  found: ExistingVolume[],
  project: string,
): Refusal | null {
  const faults = declared.flatMap((volume) => {
    const existing = found.find(({ name }) => name === (volume.name ?? `${project}_${volume.key}`));
    if (!existing) return [];
    const driver = volume.driver ?? 'local';
    if (usesVariables(volume)) return [];
    if (existing.driver !== driver)
      return [`volume ${volume.key}: driver is ${existing.driver}, the bundle says ${driver}`];
    return hasSameOptions(existing.options, volume.driver_opts) ? [] : [`volume ${volume.key}: driver options differ`];
  });
  if (faults.length === 0) return null;
  const cure = 'rename the volume, or remove it by hand';
  return refusalWith(
    'VOLUME_DIVERGED',
    faults.map((text) => ({ text, cure })),
  );
}

/** Only compose knows the values of variables. It asks before it recreates a volume, and the agent never confirms. */
function usesVariables({ driver, driver_opts }: DeclaredVolume): boolean {
  return [driver, ...Object.values(driver_opts)].some((text) => text?.includes('$'));
}

function hasSameOptions(a: Record<string, string>, b: Record<string, string>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Refuses a second login for a registry in a swarm, whose nodes pull by themselves with one. */
export function validateSwarmLogins({ registries }: Pick<Manifest, 'registries'>): Refusal | null {
  const names = registries.map((login) => scopeOf(login).registry);
  const faults = names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : {
          text: `registries[${index}].host is refused in a swarm: it has one login for each registry`,
          cure: 'use one login that may read all of them',
        },
  );
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

/** The bundle of the highest sequence that a host has applied; an older agent did not record its digest. */
export interface NewestApplied {
  sequence: number;
  sha: Sha | null;
}

/**
 * ROLLBACK_REFUSED for a bundle that is not newer than the newest applied on this host, and another one, unless it
 * allows a rollback and the host does not deny that (spec §9).
 */
export function validateRollback(
  { manifest, sha }: { manifest: Manifest; sha: Sha | null },
  newest: NewestApplied | null,
  deny: readonly Denial[] = [],
): Refusal | null {
  const { sequence, version, agent } = manifest;
  const isDenied = deny.includes('rollback');
  if (newest === null || sequence > newest.sequence || (agent.allow_rollback && !isDenied)) return null;
  const isSame = sha === null || newest.sha === null || sha === newest.sha;
  if (sequence === newest.sequence && isSame) return null;
  const why =
    sequence === newest.sequence
      ? `is the sequence of another bundle that was applied here, ${newest.sha}`
      : `is lower than ${newest.sequence}, the highest applied here`;
  const text = `sequence ${sequence} (version ${version}) ${why}`;
  const cure = isDenied
    ? 'raise the sequence, as policy.deny: rollback of this host outlives the flags of the bundle'
    : 'raise the sequence, or set agent.allow_rollback in manifest.json';
  return refusalWith('ROLLBACK_REFUSED', [{ text, cure }]);
}
