import { refusalCodes, type Manifest, type Refusal, type RefusalCode, type Sha } from '../../../../machines/words.ts';
import { servicesOf } from '../compose/contents.ts';
import { judgeCompose } from '../compose/judge.ts';
import { judgeDisk, neededBytes, type Room } from '../release/disk.ts';
import { changesOf, type Change, type Release } from './changes.ts';
import { judgeRollback } from '../release/rollback.ts';
import { judgeSecretPaths } from '../bundle/secretPath.ts';
import { judgeVariables } from '../bundle/variables.ts';
import { judgeVolumes, type FoundVolume } from '../release/volumeDrift.ts';

/** What an apply of a bundle would do here, key by key as `deployd plan --json` prints it (spec §2). */
export interface Plan {
  /** Null when the manifest cannot be used. */
  bundle: Pick<Manifest, 'name' | 'env' | 'version' | 'sequence'> | null;
  /** Null for a directory. */
  sha: Sha | null;
  /** One for each code that refuses, in the order in which a tick tells them. */
  refusals: Refusal[];
  disk: { paths: readonly string[]; free_bytes: number | null; needed_bytes: number }[];
  services: Change[];
  volumes: Change[];
  images: Change[];
  /** Checks that were not made, so that their silence means nothing. */
  not_judged: { codes: RefusalCode[]; why: string }[];
}

/** A fact of the host, or why it is not known. */
export type Known<T> = { is: T } | { unknown: string };

/** An unpacked bundle: its manifest, its compose files, and what stood in the way of reading those. */
export interface BundleFacts extends Release {
  manifest: Manifest;
  refusals: Refusal[];
  /** Paths of the bundle's files and directories. */
  releaseFiles: ReadonlySet<string>;
  /** Texts of its env files and label files by path. */
  texts: ReadonlyMap<string, string>;
}

/** The host that the bundle is for. */
export interface HostFacts {
  /** Null where nothing was ever applied. */
  highestSequence: Known<number | null>;
  /** The release in force, null when there is none. */
  inForce: Known<Release | null>;
  engine: Known<{
    volumes: FoundVolume[];
    /** Names of those that only failed attempts made: they are made anew where they diverge. */
    leftovers: readonly string[];
    /** Services that have a container. */
    services: ReadonlySet<string>;
    filesystems: Room['filesystems'];
    headroomBytes: number;
  }>;
}

/** Judges everything that must not run, and tells it all at once (spec §9.1); the same for a tick and for `plan`. */
export function planOf(bundle: BundleFacts, host: HostFacts): Plan {
  const { manifest, sha, refusals } = bundle;
  const unusable = refusals.filter(({ code }) => code === 'MANIFEST_INVALID');
  if (unusable.length > 0) return endedPlan(merged(unusable), sha);
  const { name, env, version, sequence } = manifest;
  return {
    bundle: { name, env, version, sequence },
    sha,
    refusals: merged([...refusals, ...judgeBundle(bundle, host), ...judgeHost(bundle, host)]),
    disk: roomOf(manifest, host),
    ...changesOf(
      bundle,
      manifest.secrets.map((secret) => secret.var),
      {
        project: projectOf(manifest),
        inForce: 'is' in host.inForce ? { release: host.inForce.is } : null,
        engine: 'is' in host.engine ? { ...host.engine.is, volumes: host.engine.is.volumes.map(nameOf) } : null,
      },
    ),
    not_judged: [...uncompared(sha), ...unasked, ...unknownOf(host)],
  };
}

/** The plan of a bundle whose first refusal ended the judgement, so that nothing else is known of it. */
export function endedPlan(refusals: Refusal[], sha: Sha | null): Plan {
  const code = refusals[0]?.code ?? 'MANIFEST_INVALID';
  const later = refusalCodes.slice(refusalCodes.indexOf(code) + 1);
  const ended = { codes: later, why: `the judgement ended with ${code}` };
  const nothing = { bundle: null, disk: [], services: [], volumes: [], images: [] };
  return { ...nothing, sha, refusals, not_judged: [...uncompared(sha), ended] };
}

/** The env that a manifest names, '' where it names none: what a bundle that is judged without a host is held against. */
export function envOf(manifestText: string): string {
  try {
    const { env } = Object(JSON.parse(manifestText)) as { env?: unknown };
    return typeof env === 'string' ? env : '';
  } catch {
    return '';
  }
}

function judgeBundle({ manifest, files, releaseFiles, texts }: BundleFacts, host: HostFacts): Refusal[] {
  const facts = { manifest, projectName: projectOf(manifest), releaseFiles, texts };
  return [
    judgeSecretPaths(manifest),
    judgeVariables({ files, texts }, manifest),
    ...judgeCompose(files, facts),
    'is' in host.highestSequence ? judgeRollback(manifest, host.highestSequence.is) : null,
  ].filter((each) => each !== null);
}

/** The checks that look at the engine: volumes that would diverge, and room for what a pull brings. */
function judgeHost({ manifest, files }: BundleFacts, { engine }: HostFacts): Refusal[] {
  if ('unknown' in engine) return [];
  const { volumes, leftovers, filesystems, headroomBytes } = engine.is;
  const served = volumes.filter(({ name }) => !leftovers.includes(name));
  const diverged = judgeVolumes(servicesOf(files).volumes, served, projectOf(manifest));
  const full = judgeDisk({ needBytes: manifest.disk_need_bytes, headroomBytes, filesystems });
  return [diverged, full].filter((each) => each !== null);
}

/** One refusal a code, in the order in which they are told (spec §9.1). */
function merged(refusals: Refusal[]): Refusal[] {
  return refusalCodes.flatMap((code) => {
    const details = refusals.filter((each) => each.code === code).map(({ detail }) => detail);
    return details.length > 0 ? [{ code, detail: details.join('; ') }] : [];
  });
}

function roomOf({ disk_need_bytes }: Manifest, { engine }: HostFacts): Plan['disk'] {
  if ('unknown' in engine) return [];
  const { filesystems, headroomBytes } = engine.is;
  const needed_bytes = neededBytes({ needBytes: disk_need_bytes, headroomBytes });
  return filesystems.map(({ paths, freeBytes }) => ({ paths, free_bytes: freeBytes, needed_bytes }));
}

/** What only a bundle has that was announced. */
function uncompared(sha: Sha | null): Plan['not_judged'] {
  return [
    sha === null
      ? {
          codes: ['BUNDLE_DIGEST', 'BUNDLE_UNSAFE'],
          why: 'a directory is no archive; of its names and kinds all was judged',
        }
      : { codes: ['BUNDLE_DIGEST'], why: 'only an announced bundle has a digest to compare with' },
  ];
}

/** What only a tick that applies can judge: it has the values, and compose. */
const unasked: Plan['not_judged'] = [
  {
    codes: ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'],
    why: 'what compose makes of the files with the real values: a tick judges that before it promotes anything',
  },
  { codes: ['LEASE_SHAPE', 'SECRET_UNAVAILABLE', 'SECRET_UNUSABLE'], why: 'the secretstore is not asked' },
];

function unknownOf({ highestSequence, engine }: HostFacts): Plan['not_judged'] {
  const rows: [Known<unknown>, RefusalCode[]][] = [
    [highestSequence, ['ROLLBACK_REFUSED']],
    [engine, ['VOLUME_DIVERGED', 'DISK_INSUFFICIENT']],
  ];
  return rows.flatMap(([fact, codes]) => ('unknown' in fact ? [{ codes, why: fact.unknown }] : []));
}

/** Compose project of an env. */
function projectOf({ env }: Manifest): string {
  return `deployd-${env}`;
}

function nameOf({ name }: { name: string }): string {
  return name;
}
