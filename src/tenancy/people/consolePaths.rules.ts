/** The first page of the console. */
export const consolePath = '/console/';
/** Where a sign-in begins, where the provider sends people back to, and where a session ends. */
export const signInPath = '/console/sign-in';
export const callbackPath = '/console/callback';
export const signOutPath = '/console/sign-out';
export const signedOutPath = '/console/signed-out';

/** Where pages load their script and their style from. */
export const scriptPath = '/console/console.js';
export const stylePath = '/console/console.css';

/** The page to go to after a sign-in: a path below the console, else its first page. */
export function returnPath(wish: string | undefined): string {
  const isOwn = wish !== undefined && wish.length <= 512 && /^\/console\/[\w./?=&%~+,:@-]*$/.test(wish);
  return isOwn ? wish : consolePath;
}
