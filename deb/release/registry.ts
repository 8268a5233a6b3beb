import { parseArgs } from 'node:util';
import { version } from '../../src/version.ts';
import { readRelease, type ReleaseFile } from './files.ts';
import { ask, refusalOf, type Ask, type Told } from './http.ts';
import { carryOut, Mishap } from '../mishap.ts';

/** A GitLab package registry and who publishes to it. */
export interface Registry {
  /** `…/api/v4`. */
  api: string;
  project: string;
  /** `JOB-TOKEN` or `DEPLOY-TOKEN`, with the token. */
  credential: Record<string, string>;
}

/** One after the other, as the registry wants them for a new version. A version that is there keeps its content for good. */
export async function publishToRegistry(registry: Registry, version: string, files: ReleaseFile[]): Promise<void> {
  const base = `${registry.api}/projects/${encodeURIComponent(registry.project)}/packages/generic/deployd/${version}`;
  for (const { name, bytes } of files) {
    const url = `${base}/${name}`;
    const there = await download(url, registry.credential);
    if (there === null) await upload(url, registry.credential, bytes);
    else if (!there.equals(bytes))
      throw new Mishap(`${url} is published already with other content: raise the version, for hosts may have it`);
    console.log(`${there === null ? 'published' : 'is there already'}: ${url}`);
  }
}

async function download(url: string, headers: Record<string, string>): Promise<Buffer | null> {
  const wanted: Ask = { method: 'GET', url, headers };
  let told = await ask(wanted);
  // The storage behind the registry gets no credential.
  if (told.location !== null && told.status >= 300 && told.status < 400)
    told = await ask({ method: 'GET', url: told.location });
  if (told.status === 404) return null;
  if (told.status !== 200) throw refusal(wanted, told);
  return told.body;
}

async function upload(url: string, headers: Record<string, string>, body: Buffer): Promise<void> {
  const wanted: Ask = { method: 'PUT', url, headers, body };
  const told = await ask(wanted);
  if (told.status !== 200 && told.status !== 201) throw refusal(wanted, told);
}

function refusal(wanted: Ask, told: Told): Mishap {
  const hints: Record<number, string> = {
    401: 'the token is missing, wrong or revoked',
    403: 'the token may not write packages (scope write_package_registry)',
    404: 'there is no such project, or the token is of another',
  };
  return refusalOf(wanted, told, hints[told.status]);
}

/** In a pipeline GitLab gives everything; elsewhere a deploy token stands in DEPLOY_TOKEN. */
function credentialIn(env: NodeJS.ProcessEnv): Record<string, string> {
  if (env['DEPLOY_TOKEN']) return { 'DEPLOY-TOKEN': env['DEPLOY_TOKEN'] };
  if (env['CI_JOB_TOKEN']) return { 'JOB-TOKEN': env['CI_JOB_TOKEN'] };
  throw new Mishap('no token: set DEPLOY_TOKEN to one with the scope write_package_registry');
}

if (import.meta.main)
  await carryOut(async () => {
    const { values } = parseArgs({
      options: { api: { type: 'string' }, project: { type: 'string' }, dir: { type: 'string' } },
    });
    const api = values.api ?? process.env['CI_API_V4_URL'];
    const project = values.project ?? process.env['CI_PROJECT_ID'];
    if (!api || !project) throw new Mishap('outside a pipeline name the registry: --api https://…/api/v4 --project ID');
    const files = await readRelease(values.dir ?? 'build/package', version);
    await publishToRegistry({ api, project, credential: credentialIn(process.env) }, version, files);
  });
