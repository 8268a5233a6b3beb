import { path, request } from './request.ts';
import type {
  BackendDetails,
  BackendList,
  BundleList,
  EnvDetails,
  Fleet,
  NewRollout,
  ReportList,
  Rollout,
  RolloutList,
} from './types.ts';

export type Api = ReturnType<typeof createApi>;

/** The calls of the API that pages make. Those that read end with `signal`; those that change something do not. */
export function createApi(signal: AbortSignal) {
  const get = <Answer>(url: string) => request<Answer>(url, { signal });
  return {
    fleet: () => get<Fleet>('/v1/fleet'),
    env: (env: string) => get<EnvDetails>(path`/v1/envs/${env}`),
    backends: (query: URLSearchParams) => get<BackendList>(`/v1/backends?${query}`),
    backend: (id: string) => get<BackendDetails>(path`/v1/backends/${id}`),
    reports: (id: string) => get<ReportList>(path`/v1/backends/${id}/reports` + '?limit=30'),
    bundles: (env: string) => get<BundleList>(path`/v1/bundles?env=${env}` + '&limit=50'),
    rollouts: (env: string) => get<RolloutList>(path`/v1/envs/${env}/rollouts` + '?limit=10'),
    promote: (env: string, sha256: string) =>
      request<EnvDetails>(path`/v1/envs/${env}/desired`, { method: 'PUT', body: { sha256 } }),
    startRollout: (env: string, body: NewRollout) =>
      request<Rollout>(path`/v1/envs/${env}/rollouts`, { method: 'POST', body }),
    changeRollout: (env: string, act: 'halt' | 'resume' | 'abort') =>
      request<Rollout>(path`/v1/envs/${env}/rollout/${act}`, { method: 'POST' }),
    passGate: (env: string, wave: number) =>
      request<Rollout>(path`/v1/envs/${env}/rollout/pass`, { method: 'POST', body: { wave } }),
    createEnv: (body: { name: string; production: boolean }) =>
      request<EnvDetails>('/v1/envs', { method: 'POST', body }),
  };
}
