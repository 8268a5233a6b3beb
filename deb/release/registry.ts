import { parseArgs } from 'node:util';
import { version } from '../../src/core/commandLine.ts';
import { readReleaseFiles, type ReleaseFile } from './releaseFiles.ts';
import { type ApiRequest, type ApiResponse, responseError, sendRequest } from './http.ts';
import { runScript, UserError } from '../userError.ts';

/** A GitLab package registry and the credential to publish with. */
export interface Registry {
  /** `…/api/v4`. */
  api: string;
  project: string;
  /** `JOB-TOKEN` or `DEPLOY-TOKEN`, with the token. */
  credential: Record<string, string>;
}

/** Uploads one file after the other, as the registry requires for a new version. A published file is never replaced. */
export async function publishToRegistry(registry: Registry, version: string, files: ReleaseFile[]): Promise<void> {
  const base = `${registry.api}/projects/${encodeURIComponent(registry.project)}/packages/generic/deployd/${version}`;
  for (const { name, bytes } of files) {
    const url = `${base}/${name}`;
    const published = await download(url, registry.credential);
    if (published === null) await upload(url, registry.credential, bytes);
    else if (!published.equals(bytes))
      throw new UserError(`${url} is published already with other content: raise the version, for hosts may have it`);
    console.log(`${published === null ? 'published' : 'is there already'}: ${url}`);
  }
}

async function download(url: string, headers: Record<string, string>): Promise<Buffer | null> {
  const request: ApiRequest = { method: 'GET', url, headers };
  let response = await sendRequest(request);
  // The object storage behind the registry gets no credential.
  if (response.location !== null && response.status >= 300 && response.status < 400)
    response = await sendRequest({ method: 'GET', url: response.location });
  if (response.status === 404) return null;
  if (response.status !== 200) throw registryError(request, response);
  return response.body;
}

async function upload(url: string, headers: Record<string, string>, body: Buffer): Promise<void> {
  const request: ApiRequest = { method: 'PUT', url, headers, body };
  const response = await sendRequest(request);
  if (response.status !== 200 && response.status !== 201) throw registryError(request, response);
}

function registryError(request: ApiRequest, response: ApiResponse): UserError {
  const hints: Record<number, string> = {
    401: 'the token is missing, wrong or revoked',
    403: 'the token may not write packages (scope write_package_registry)',
    404: 'there is no such project, or the token is of another',
  };
  return responseError(request, response, hints[response.status]);
}

/** GitLab sets CI_JOB_TOKEN in a pipeline; elsewhere DEPLOY_TOKEN holds a deploy token. */
function credentialIn(env: NodeJS.ProcessEnv): Record<string, string> {
  if (env['DEPLOY_TOKEN']) return { 'DEPLOY-TOKEN': env['DEPLOY_TOKEN'] };
  if (env['CI_JOB_TOKEN']) return { 'JOB-TOKEN': env['CI_JOB_TOKEN'] };
  throw new UserError('no token: set DEPLOY_TOKEN to one with the scope write_package_registry');
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({
      options: { api: { type: 'string' }, project: { type: 'string' }, dir: { type: 'string' } },
    });
    const api = values.api ?? process.env['CI_API_V4_URL'];
    const project = values.project ?? process.env['CI_PROJECT_ID'];
    if (!api || !project)
      throw new UserError('outside a pipeline name the registry: --api https://…/api/v4 --project ID');
    const files = await readReleaseFiles(values.dir ?? 'build/package', version);
    await publishToRegistry({ api, project, credential: credentialIn(process.env) }, version, files);
  });
