import { path, request } from './request.ts';
import type {
  AuditLog,
  BackendDetails,
  BackendList,
  BundleDiff,
  BundleList,
  EnvDetails,
  Fleet,
  InstallKit,
  NewRollout,
  OperatorList,
  ReportList,
  Retirement,
  Rollout,
  RolloutList,
  SecretList,
  SecretVersion,
  SessionList,
  WebhookList,
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
    diff: ({ env, from, to }: { env: string; from: string; to: string }) =>
      get<BundleDiff>(path`/v1/envs/${env}/bundles/${from}/diff?to=${to}`),
    rollouts: (env: string) => get<RolloutList>(path`/v1/envs/${env}/rollouts` + '?limit=10'),
    promote: (env: string, sha256: string) =>
      request<EnvDetails>(path`/v1/envs/${env}/desired`, { method: 'PUT', body: { sha256 } }),
    startRollout: (env: string, body: NewRollout) =>
      request<Rollout>(path`/v1/envs/${env}/rollouts`, { method: 'POST', body }),
    changeRollout: (env: string, act: 'halt' | 'resume' | 'abort') =>
      request<Rollout>(path`/v1/envs/${env}/rollout/${act}`, { method: 'POST' }),
    passGate: (env: string, wave: number) =>
      request<Rollout>(path`/v1/envs/${env}/rollout/pass`, { method: 'POST', body: { wave } }),
    webhooks: () => get<WebhookList>('/v1/webhooks?limit=500'),
    revealKit: (id: string) => request<InstallKit>(path`/v1/backends/${id}/kit`, { method: 'POST' }),
    retire: (id: string, body: Retirement) =>
      request<unknown>(path`/v1/backends/${id}/retire`, { method: 'POST', body }),
    secrets: (env: string) => get<SecretList>(path`/v1/envs/${env}/secrets`),
    setSecret: ({ env, key, data }: { env: string; key: string; data: Record<string, string> }) =>
      request<SecretVersion>(path`/v1/envs/${env}/secrets/${key}`, { method: 'PUT', body: { data } }),
    deleteSecret: (env: string, key: string) =>
      request<undefined>(path`/v1/envs/${env}/secrets/${key}`, { method: 'DELETE' }),
    audit: (query: URLSearchParams) => get<AuditLog>(`/v1/audit?${query}`),
    sessions: () => get<SessionList>('/v1/sessions'),
    endSession: (id: string) => request<undefined>(path`/v1/sessions/${id}`, { method: 'DELETE' }),
    operators: () => get<OperatorList>('/v1/operators'),
    revokeOperator: (id: string) => request<undefined>(path`/v1/operators/${id}`, { method: 'DELETE' }),
    createEnv: (body: { name: string; production: boolean }) =>
      request<EnvDetails>('/v1/envs', { method: 'POST', body }),
  };
}
