import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { version } from '../../src/core/commandLine.ts';
import { readChangelog } from '../packageVersion.ts';
import { readReleaseFiles, type ReleaseFile } from './releaseFiles.ts';
import { type ApiRequest, type ApiResponse, responseError, sendRequest } from './http.ts';
import { runScript, UserError } from '../userError.ts';

/** A Gitea or Forgejo server, and how long to wait until its mirror has the tag. */
export interface ReleaseHost {
  /** `…/api/v1`. */
  api: string;
  /** `<owner>/<repo>`. */
  repo: string;
  token: string;
  wait_s: number;
  poll_s: number;
}

/** The content of a release. */
export interface Publication {
  tag: string;
  body: string;
  files: ReleaseFile[];
}

/**
 * Syncs the mirror until it has the tag, creates the release or uses the existing one, and uploads the files, replacing
 * files of the same name. Idempotent: it can be repeated after any error.
 */
export async function publishToHost(host: ReleaseHost, { tag, body, files }: Publication): Promise<void> {
  await syncMirror(host);
  await waitForTag(host, tag);
  const release = await releaseOf(host, tag, body);
  for (const file of files) {
    await attachFile(host, release, file);
    console.log(`published: ${tag}/${file.name}`);
  }
}

/** Only queues the sync. A repository that is not a mirror needs none. */
async function syncMirror(host: ReleaseHost): Promise<void> {
  const [request, response] = await call(host, 'POST', '/mirror-sync');
  const isNoMirror = response.status === 400 && response.body.includes('not a mirror');
  if (response.status !== 200 && !isNoMirror) throw hostError(request, response);
}

/** A release without an existing tag would create the tag on the default branch. */
async function waitForTag(host: ReleaseHost, tag: string): Promise<void> {
  const deadline = Date.now() + host.wait_s * 1000;
  while (!(await hasTag(host, tag))) {
    if (Date.now() >= deadline)
      throw new UserError(
        `tag ${tag} did not reach ${host.repo} within ${host.wait_s} s: look at its mirror settings, then run this job again`,
      );
    await pause(host.poll_s * 1000);
  }
}

async function hasTag(host: ReleaseHost, tag: string): Promise<boolean> {
  const [request, response] = await call(host, 'GET', `/tags/${tag}`);
  if (response.status !== 200 && response.status !== 404) throw hostError(request, response);
  return response.status === 200;
}

async function releaseOf(host: ReleaseHost, tag: string, body: string): Promise<number> {
  const [request, response] = await call(host, 'POST', '/releases', {
    json: { tag_name: tag, name: `deployd ${tag}`, body },
  });
  if (response.status === 201) return idIn(response);
  if (response.status !== 409) throw hostError(request, response);
  const [again, found] = await call(host, 'GET', `/releases/tags/${tag}`);
  if (found.status !== 200) throw hostError(again, found);
  return idIn(found);
}

/** Uploads the new file before it deletes the old one, so that there always is one; the host allows equal names. */
async function attachFile(host: ReleaseHost, release: number, { name, bytes }: ReleaseFile): Promise<void> {
  const assets = `/releases/${release}/assets`;
  const [listing, listed] = await call(host, 'GET', assets);
  if (listed.status !== 200) throw hostError(listing, listed);
  const form = new FormData();
  form.set('attachment', new Blob([new Uint8Array(bytes)]), name);
  const [request, response] = await call(host, 'POST', `${assets}?name=${encodeURIComponent(name)}`, { body: form });
  if (response.status !== 201) throw hostError(request, response);
  const before = (JSON.parse(listed.body.toString()) as { id: number; name: string }[]).filter(
    (each) => each.name === name,
  );
  for (const { id } of before) {
    const [removal, removed] = await call(host, 'DELETE', `${assets}/${id}`);
    if (removed.status !== 204 && removed.status !== 404) throw hostError(removal, removed);
  }
}

async function call(
  { api, repo, token }: ReleaseHost,
  ...[method, path, more]: [ApiRequest['method'], string, Pick<ApiRequest, 'json' | 'body'>?]
): Promise<[ApiRequest, ApiResponse]> {
  const request = { method, url: `${api}/repos/${repo}${path}`, headers: { authorization: `token ${token}` }, ...more };
  return [request, await sendRequest(request)];
}

function idIn({ body }: ApiResponse): number {
  return (JSON.parse(body.toString()) as { id: number }).id;
}

function hostError(request: ApiRequest, response: ApiResponse): UserError {
  const hints: Record<number, string> = {
    401: 'the API token is missing, wrong or revoked',
    403: 'the API token may not write to this repository',
    404: 'there is no such repository, or the API token does not see it',
    413: 'the host takes no file of this size',
  };
  return responseError(request, response, hints[response.status]);
}

function parseSeconds(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new UserError(`--wait-s and --poll-s are numbers of seconds, not ${text}`);
  return Number(text);
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({
      options: {
        api: { type: 'string' },
        repo: { type: 'string' },
        dir: { type: 'string' },
        'wait-s': { type: 'string' },
        'poll-s': { type: 'string' },
      },
    });
    const api = values.api ?? process.env['RELEASE_API_URL'];
    const repo = values.repo ?? process.env['RELEASE_REPO'];
    const token = process.env['RELEASE_API_TOKEN'];
    if (!api || !repo) throw new UserError('name the release host: --api https://…/api/v1 --repo OWNER/REPO');
    if (!token) throw new UserError('no token: set RELEASE_API_TOKEN to one that may write releases');
    const files = await readReleaseFiles(values.dir ?? 'build/package', version);
    const changes = readChangelog().find((change) => change.version === version);
    const body = (changes?.items ?? []).map((point) => `- ${point}`).join('\n');
    const times = { wait_s: parseSeconds(values['wait-s'] ?? '300'), poll_s: parseSeconds(values['poll-s'] ?? '5') };
    await publishToHost({ api, repo, token, ...times }, { tag: `v${version}`, body, files });
  });
