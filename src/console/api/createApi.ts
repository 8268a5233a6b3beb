import { path, request } from './request.ts';
import type { BackendDetails, BackendList, EnvDetails, Fleet } from './types.ts';

export type Api = ReturnType<typeof createApi>;

/** The calls of the API that pages make. Those that read end with `signal`; those that change something do not. */
export function createApi(signal: AbortSignal) {
  const get = <Answer>(url: string) => request<Answer>(url, { signal });
  return {
    fleet: () => get<Fleet>('/v1/fleet'),
    env: (env: string) => get<EnvDetails>(path`/v1/envs/${env}`),
    backends: (query: URLSearchParams) => get<BackendList>(`/v1/backends?${query}`),
    backend: (id: string) => get<BackendDetails>(path`/v1/backends/${id}`),
    createEnv: (body: { name: string; production: boolean }) =>
      request<EnvDetails>('/v1/envs', { method: 'POST', body }),
  };
}
