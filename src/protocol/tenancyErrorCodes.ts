/** Codes in error bodies of the tenancy service that the agent acts on (spec §10); every other code is only shown. */
export const tenancyErrorCodes = { envMismatch: 'AGENT_ENV_MISMATCH' } as const;
