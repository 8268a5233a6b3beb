import { ownerOf, fileFactsOf } from '../../../platform/host/accounts.ts';
import { filesystemsOf } from '../../../platform/host/filesystems.ts';
import type { Check } from '../../../doctor/diagnosis.ts';
import type { ProgramUser } from '../../../platform/host/hostFacts.ts';
import { checkDiskSpace } from '../../../doctor/diskCheck.ts';
import { checkStateDir } from '../../../doctor/fileChecks.ts';
import type { TenancySettings } from '../../config/settings.ts';
import { checkNamedFiles } from '../../rules/doctorChecks.ts';

/** The user that the package creates, where the state directory does not tell another. */
export const packagedUser: ProgramUser = { name: 'deployd-tenancy', uid: -1, gids: [] };

/** Bytes for the embedded store to grow. */
const STORE_BYTES = 2 ** 28;

/** The user that the service runs as: the owner of the state directory. */
export async function serviceUserOf(stateDir: string): Promise<ProgramUser> {
  return (await ownerOf(stateDir)) ?? packagedUser;
}

/** Checks the state directory, the files that the configuration names, and the space of the disk. */
export async function checkFiles(settings: TenancySettings, user: ProgramUser): Promise<Check[]> {
  const { state_dir, limits } = settings;
  const named = await Promise.all(secretFilesOf(settings).map((path) => fileFactsOf(path, user)));
  // a bundle that is pushed, unpacked and kept
  const neededBytes = STORE_BYTES + 2 * limits.bundle_bytes + limits.unpacked_bytes;
  const filesystems = await filesystemsOf([state_dir]);
  return [
    checkStateDir({ dir: await fileFactsOf(state_dir, user), foreignEntries: [] }, user),
    checkNamedFiles(named, user),
    checkDiskSpace({ known: filesystems.map((each) => ({ ...each, neededBytes, purpose: 'state' })) }),
  ];
}

/** Files that hold secrets. */
function secretFilesOf({ key_file, database_url_file, s3, mesh, oidc, kit, tls }: TenancySettings): string[] {
  const credentials = [s3.credentials_file, mesh.credentials_file, oidc.client_secret_file];
  const others = [...credentials, kit.download_token_file, tls.key_file];
  return [key_file, database_url_file, ...others].filter((file) => file !== null);
}
