import type {
  AuditLog,
  BackendDetails,
  BackendList,
  BundleDiff,
  BundleList,
  EnvDetails,
  Fleet,
  HostCopy,
  InstallKit,
  NewRollback,
  NewRollout,
  OperatorList,
  Refusal,
  ReportList,
  RestoreReview,
  Retirement,
  Rollback,
  Rollout,
  RolloutEdit,
  RolloutHosts,
  RolloutList,
  RolloutPreview,
  SecretList,
  SecretVersion,
  SessionList,
  Trouble,
  WebhookList,
} from './types.ts';

export type Api = ReturnType<typeof createApi>;

/** The calls of the API that pages make. Those that read end with `signal`; those that change something do not. */
export function createApi(signal: AbortSignal) {
  const get = <Answer>(url: string) => request<Answer>(url, { signal });
  return {
    fleet: () => get<Fleet>('/v1/fleet'),
    trouble: (query: Record<string, string> = {}) => get<Trouble>(`/v1/trouble?${new URLSearchParams(query)}`),
    env: (env: string) => get<EnvDetails>(path`/v1/envs/${env}`),
    backends: (query: URLSearchParams) => get<BackendList>(`/v1/backends?${query}`),
    backend: (id: string) => get<BackendDetails>(path`/v1/backends/${id}`),
    reports: (id: string) => get<ReportList>(path`/v1/backends/${id}/reports` + '?limit=30'),
    bundles: (env: string) => get<BundleList>(path`/v1/bundles?env=${env}` + '&limit=50'),
    diff: ({ env, from, to }: { env: string; from: string; to: string }) =>
      get<BundleDiff>(path`/v1/envs/${env}/bundles/${from}/diff?to=${to}`),
    rollouts: (env: string, limit = '10') => get<RolloutList>(path`/v1/envs/${env}/rollouts` + `?limit=${limit}`),
    rolloutHosts: (env: string) => get<RolloutHosts>(path`/v1/envs/${env}/rollout/hosts` + '?limit=500'),
    promote: (env: string, body: { sha256: string; override_rollout?: boolean }) =>
      request<EnvDetails>(path`/v1/envs/${env}/desired`, { method: 'PUT', body }),
    rollBack: (env: string, body: NewRollback) =>
      request<Rollback>(path`/v1/envs/${env}/rollback`, { method: 'POST', body }),
    previewRollout: (env: string, body: Pick<NewRollout, 'sha256' | 'waves' | 'draw'>) =>
      request<RolloutPreview>(path`/v1/envs/${env}/rollouts/preview`, { method: 'POST', body }),
    startRollout: (env: string, body: NewRollout) =>
      request<Rollout>(path`/v1/envs/${env}/rollouts`, { method: 'POST', body }),
    changeRollout: (env: string, act: 'halt' | 'resume' | 'abort') =>
      request<Rollout>(path`/v1/envs/${env}/rollout/${act}`, { method: 'POST' }),
    editRollout: (env: string, body: RolloutEdit) =>
      request<Rollout>(path`/v1/envs/${env}/rollout/edit`, { method: 'POST', body }),
    skipHost: (env: string, backend: string) =>
      request<Rollout>(path`/v1/envs/${env}/rollout/skip`, { method: 'POST', body: { backend } }),
    passGate: (env: string, wave: number) =>
      request<Rollout>(path`/v1/envs/${env}/rollout/pass`, { method: 'POST', body: { wave } }),
    restore: () => get<RestoreReview>('/v1/restore'),
    adoptArchive: (sha256: string) => request<unknown>(path`/v1/restore/archives/${sha256}/adopt`, { method: 'POST' }),
    releaseEnv: (env: string, desired_sha: string | null) =>
      request<EnvDetails>(path`/v1/envs/${env}/release`, { method: 'POST', body: { desired_sha } }),
    webhooks: () => get<WebhookList>('/v1/webhooks?limit=500'),
    revealKit: (id: string) => request<InstallKit>(path`/v1/backends/${id}/kit`, { method: 'POST' }),
    accept: (id: string, { machine, boot }: HostCopy) =>
      request<BackendDetails>(path`/v1/backends/${id}/accept`, { method: 'POST', body: { machine, boot } }),
    retire: (id: string, body: Retirement) =>
      request<unknown>(path`/v1/backends/${id}/retire`, { method: 'POST', body }),
    secrets: (env: string) => get<SecretList>(path`/v1/envs/${env}/secrets`),
    setSecret: ({ env, key, data }: { env: string; key: string; data: Record<string, string> }) =>
      request<SecretVersion>(path`/v1/envs/${env}/secrets/${key}`, {
        method: 'PUT',
        body: { data, keep_fields: true },
      }),
    keepSecrets: (env: string) => request<EnvDetails>(path`/v1/envs/${env}/keep-secrets`, { method: 'POST' }),
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

/** Milliseconds after which a call counts as unanswered; a slow network takes some seconds for the largest answer. */
const ANSWER_MS = 30_000;

/** A call of the API. */
interface ApiRequest {
  method?: 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  signal?: AbortSignal;
}

/** Calls the API by the session of this browser; the answer's body, undefined for none. Throws `ApiError`. */
export async function request<Answer>(path: string, { method, body, signal }: ApiRequest = {}): Promise<Answer> {
  const init: RequestInit = { method: method ?? 'GET', credentials: 'same-origin' };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'content-type': 'application/json' };
  }
  const { ok, status, text } = await answerTo(path, init, signal).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    const code = method === undefined ? 'UNREACHABLE' : 'UNANSWERED';
    throw new ApiError({ status: 0, code, message: 'the service does not answer' });
  });
  const answer = text === '' ? undefined : parse(text);
  if (ok && answer !== null) return answer as Answer;
  throw errorOf(status, answer);
}

async function answerTo(path: string, init: RequestInit, signal?: AbortSignal) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  try {
    const response = await fetch(path, {
      ...init,
      signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
    });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } finally {
    clearTimeout(timer);
  }
}

/** The JSON of an answer with every text as pages show it; null if it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? visible(value) : value));
  } catch {
    return null;
  }
}

/** A path with values, which are escaped. */
function path(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((text, part, index) => text + encodeURIComponent(values[index - 1] ?? '') + part);
}

interface ErrorAnswer {
  error?: { code: string; message: string; refusals?: Refusal[] };
}

/** A proxy in between may answer with something else than the API does. */
function errorOf(status: number, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as ErrorAnswer;
  const foreign = { code: `HTTP_${status}`, message: `what answers is not the service (status ${status})` };
  return new ApiError({ status, ...(error ?? foreign) });
}

/**
 * An answer of the API that explains a failure. Its status is 0 without an answer: `UNREACHABLE` if something was read,
 * `UNANSWERED` if something should change.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly refusals: readonly Refusal[];

  constructor({ status, code, message, refusals = [] }: ApiErrorFields) {
    super(message);
    this.status = status;
    this.code = code;
    this.refusals = refusals;
  }
}

interface ApiErrorFields {
  status: number;
  code: string;
  message: string;
  refusals?: readonly Refusal[] | undefined;
}

/** A text without characters that nobody sees, or that turn the order of others around; line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replace(/(?![\r\n\t])[\p{C}\u2028\u2029]/gu, '\ufffd');
}
