/** What to do about an error, by its code; nothing where the message says all. */
const byCode: Record<string, string> = {
  ALREADY_DESIRED: 'The env runs this bundle already. Choose another one.',
  BACKEND_LEADS: 'Demote its node first, so that another manager acts, or retire all managers of its swarm.',
  BACKEND_OFFLINE: 'Its host does not answer. Force it, and the host is taken down if it comes back within a day.',
  BUNDLE_DAMAGED: 'Push its archive again, or a newer bundle: deployctl push.',
  BUNDLE_ENV: 'Pack the bundle for this env: its manifest names another.',
  BUNDLE_MISSING: 'Push its archive again, or a newer bundle: deployctl push.',
  ENV_IN_USE: 'Retire its backends first.',
  ROLLOUT_ACTIVE: 'Wait for the rollout of this env, or abort it.',
  ROLLOUT_STATE: 'The rollout has gone on in the meantime. Look at it again.',
  SIGNATURE_AWAITED: 'Have the bundle signed: deployctl bundle sign.',
  CROSS_SITE_REFUSED: 'Open the console by its own address, and try again.',
  UNANSWERED: 'It may have been done all the same: load the page again and look, before you try again.',
  UNREACHABLE: 'Is there a network? The page tries again by itself.',
};

const byStatus: Record<number, string> = {
  401: 'Sign in again; you come back to this page.',
  403: 'Somebody with another role may do it. The page People tells your role.',
  404: 'It may have been removed, or it is in an env that you may not see.',
  429: 'Wait a minute, and try again.',
  503: 'The service is busy or misses one of its peers. Try again in a moment.',
};

/** What to do about an error of the API; null where its message says all. */
export function adviceFor({ code, status }: { code: string; status: number }): string | null {
  return byCode[code] ?? byStatus[status] ?? null;
}
