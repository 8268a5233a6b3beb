import { userInfo } from 'node:os';

/** Login name of who runs this command: of who has called sudo, else of its user; null where it has none. Nothing may trust it. */
export function loginName(): string | null {
  return process.env['SUDO_USER'] || ownName();
}

/** The home directory of the user of this process, by its account; null without one. */
export function homeDirectory(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

function ownName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // A uid without an account.
    return null;
  }
}
