import type { BackendDetails, InstallKit } from '../api/types.ts';

/** A file of a kit, by the name that the command of the kit has for it. */
export interface KitFile {
  name: string;
  text: string;
}

/** The files that the installer takes. */
export function kitFiles(kit: InstallKit): KitFile[] {
  const files: [string, string | null][] = [
    ['bootstrap.jwt', kit.bootstrap_jwt],
    ['download-token', kit.download_token],
    ['mesh-enrolment.jwt', kit.mesh_enrolment_jwt],
    ['secretstore-ca.pem', kit.secretstore_ca],
  ];
  return files.flatMap(([name, text]) => (text === null ? [] : [{ name, text }]));
}

/** What a new kit puts an end to. */
export function supersedes({ generation, last_seen_at }: Pick<BackendDetails, 'generation' | 'last_seen_at'>): string {
  if (generation === 0) return 'No kit of this backend was revealed yet.';
  const times = generation === 1 ? 'once' : `${generation} times`;
  const host = last_seen_at === null ? '' : ' and the host, which checks in now, is refused until it has the new one';
  return `A kit was revealed ${times} before. The new one supersedes it: its grant is void${host}.`;
}
