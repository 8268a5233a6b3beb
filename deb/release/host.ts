import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { version } from '../../src/version.ts';
import { readChanges } from '../edition.ts';
import { readRelease, type ReleaseFile } from './files.ts';
import { ask, refusalOf, type Ask, type Told } from './http.ts';
import { carryOut, Mishap } from '../mishap.ts';

/** A Gitea or Forgejo, and how long its mirror may take to bring the tag. */
export interface ReleaseHost {
  /** `…/api/v1`. */
  api: string;
  /** `<owner>/<repo>`. */
  repo: string;
  token: string;
  wait_s: number;
  poll_s: number;
}

/** What becomes a release. */
export interface Publication {
  tag: string;
  body: string;
  files: ReleaseFile[];
}

/**
 * Brings the tag to the mirror, then makes the release, or takes the one that is there, and puts the files into it in place
 * of those of the same names. May be repeated after any mishap.
 */
export async function publishToHost(host: ReleaseHost, { tag, body, files }: Publication): Promise<void> {
  await syncMirror(host);
  await awaitTag(host, tag);
  const release = await releaseOf(host, tag, body);
  for (const file of files) {
    await attach(host, release, file);
    console.log(`published: ${tag}/${file.name}`);
  }
}

/** Only queues the sync; a repository that is no mirror has its tags without one. */
async function syncMirror(host: ReleaseHost): Promise<void> {
  const [wanted, told] = await call(host, 'POST', '/mirror-sync');
  const isNoMirror = told.status === 400 && told.body.includes('not a mirror');
  if (told.status !== 200 && !isNoMirror) throw refusal(wanted, told);
}

/** Before the tag is there nothing may be released: the host would make the tag itself, on its default branch. */
async function awaitTag(host: ReleaseHost, tag: string): Promise<void> {
  const deadline = Date.now() + host.wait_s * 1000;
  while (!(await hasTag(host, tag))) {
    if (Date.now() >= deadline)
      throw new Mishap(
        `tag ${tag} did not reach ${host.repo} within ${host.wait_s} s: look at its mirror settings, then run this job again`,
      );
    await pause(host.poll_s * 1000);
  }
}

async function hasTag(host: ReleaseHost, tag: string): Promise<boolean> {
  const [wanted, told] = await call(host, 'GET', `/tags/${tag}`);
  if (told.status !== 200 && told.status !== 404) throw refusal(wanted, told);
  return told.status === 200;
}

async function releaseOf(host: ReleaseHost, tag: string, body: string): Promise<number> {
  const [wanted, told] = await call(host, 'POST', '/releases', {
    json: { tag_name: tag, name: `deployd ${tag}`, body },
  });
  if (told.status === 201) return idIn(told);
  if (told.status !== 409) throw refusal(wanted, told);
  const [again, found] = await call(host, 'GET', `/releases/tags/${tag}`);
  if (found.status !== 200) throw refusal(again, found);
  return idIn(found);
}

/** The new file comes before the old one goes, so that there is always one; the host allows two of a name. */
async function attach(host: ReleaseHost, release: number, { name, bytes }: ReleaseFile): Promise<void> {
  const assets = `/releases/${release}/assets`;
  const [listing, listed] = await call(host, 'GET', assets);
  if (listed.status !== 200) throw refusal(listing, listed);
  const form = new FormData();
  form.set('attachment', new Blob([new Uint8Array(bytes)]), name);
  const [wanted, told] = await call(host, 'POST', `${assets}?name=${encodeURIComponent(name)}`, { body: form });
  if (told.status !== 201) throw refusal(wanted, told);
  const before = (JSON.parse(listed.body.toString()) as { id: number; name: string }[]).filter(
    (each) => each.name === name,
  );
  for (const { id } of before) {
    const [removal, removed] = await call(host, 'DELETE', `${assets}/${id}`);
    if (removed.status !== 204 && removed.status !== 404) throw refusal(removal, removed);
  }
}

async function call(
  { api, repo, token }: ReleaseHost,
  ...[method, path, more]: [Ask['method'], string, Pick<Ask, 'json' | 'body'>?]
): Promise<[Ask, Told]> {
  const wanted = { method, url: `${api}/repos/${repo}${path}`, headers: { authorization: `token ${token}` }, ...more };
  return [wanted, await ask(wanted)];
}

function idIn({ body }: Told): number {
  return (JSON.parse(body.toString()) as { id: number }).id;
}

function refusal(wanted: Ask, told: Told): Mishap {
  const hints: Record<number, string> = {
    401: 'the API token is missing, wrong or revoked',
    403: 'the API token may not write to this repository',
    404: 'there is no such repository, or the API token does not see it',
    413: 'the host takes no file of this size',
  };
  return refusalOf(wanted, told, hints[told.status]);
}

function secondsOf(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Mishap(`--wait-s and --poll-s are numbers of seconds, not ${text}`);
  return Number(text);
}

if (import.meta.main)
  await carryOut(async () => {
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
    if (!api || !repo) throw new Mishap('name the release host: --api https://…/api/v1 --repo OWNER/REPO');
    if (!token) throw new Mishap('no token: set RELEASE_API_TOKEN to one that may write releases');
    const files = await readRelease(values.dir ?? 'build/package', version);
    const changes = readChanges().find((change) => change.version === version);
    const body = (changes?.points ?? []).map((point) => `- ${point}`).join('\n');
    const times = { wait_s: secondsOf(values['wait-s'] ?? '300'), poll_s: secondsOf(values['poll-s'] ?? '5') };
    await publishToHost({ api, repo, token, ...times }, { tag: `v${version}`, body, files });
  });
