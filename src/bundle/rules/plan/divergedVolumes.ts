import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';

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
export function validateVolumes(declared: DeclaredVolume[], found: ExistingVolume[], project: string): Refusal | null {
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
