import type { Refusal } from '../../../../machines/words.ts';

/** A named volume as a bundle declares it. */
export interface DeclaredVolume {
  key: string;
  /** Its own `name:`, null where the project prefix makes it. */
  name: string | null;
  driver: string | null;
  driver_opts: Record<string, string>;
}

/** A named volume as the engine has it. */
export interface FoundVolume {
  name: string;
  driver: string;
  options: Record<string, string>;
}

/** VOLUME_DIVERGED: compose would have to recreate a volume, data and all, to make it what the bundle says. */
export function judgeVolumes(declared: DeclaredVolume[], found: FoundVolume[], project: string): Refusal | null {
  const faults = declared.flatMap((volume) => {
    const existing = found.find(({ name }) => name === (volume.name ?? `${project}_${volume.key}`));
    if (!existing) return [];
    const driver = volume.driver ?? 'local';
    if (isVariable(volume)) return [];
    if (existing.driver !== driver)
      return [`volume ${volume.key}: driver is ${existing.driver}, the bundle says ${driver}`];
    return sameOptions(existing.options, volume.driver_opts) ? [] : [`volume ${volume.key}: driver options differ`];
  });
  if (faults.length === 0) return null;
  return { code: 'VOLUME_DIVERGED', detail: `${faults.join('; ')}; rename the volume or remove it by hand` };
}

/** What a variable decides is known only to compose, which asks before it destroys, and is never answered. */
function isVariable({ driver, driver_opts }: DeclaredVolume): boolean {
  return [driver ?? '', ...Object.values(driver_opts)].some((text) => text.includes('$'));
}

function sameOptions(a: Record<string, string>, b: Record<string, string>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
