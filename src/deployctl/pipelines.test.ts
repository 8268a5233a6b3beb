import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { type ServiceWithOperators, startWithOperators } from '../../fixtures/world/ctl/operators.ts';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { addHost } from '../../fixtures/world/tenancy/host.ts';

/** Environment variables of a process. */

type Env = Record<string, string>;
interface Step {
  run?: string;
  env?: Env;
}
interface GitLab {
  deploy: { variables: Env; script: string[]; allow_failure: { exit_codes: number[] } };
}
interface GitHub {
  jobs: { deploy: { env: Env; steps: Step[] } };
}

const page = readFileSync(new URL('../../docs/pipelines.md', import.meta.url), 'utf8');
const [gitLab, gitHub] = [...page.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, yaml]): unknown =>
  parse(yaml ?? ''),
) as [GitLab, GitHub];
const parent = tempDir();

let at: ServiceWithOperators;
let ticks: NodeJS.Timeout;
beforeEach(async () => {
  at = await startWithOperators();
  const host = await addHost(at.service, 'eu-1');
  let applied_sha: string | null = null;
  const tick = async () => void (applied_sha = (await host.checkIn({ applied_sha })).body['desired_sha'] as string);
  ticks = setInterval(() => void tick().catch(() => undefined), 100);
});
afterEach(async () => {
  clearInterval(ticks);
  await at.stop();
});

/**
 * Creates a checkout with the token of its job, and the programs that the examples download: `curl` provides deployctl.
 */
async function checkout(version: string) {
  const dir = await mkdtemp(join(parent, 'job-'));
  const cli = fileURLToPath(new URL('cli.ts', import.meta.url));
  const program = `process.exitCode = require('node:child_process')
    .spawnSync(process.execPath, [${JSON.stringify(cli)}, ...process.argv.slice(2)], { stdio: [0, 1, 2, 3] }).status;\n`;
  const manifest = {
    schema: 1,
    name: 'shop',
    env: 'eu-1',
    version,
    sequence: 1,
    compose: ['compose.yaml'],
    secrets: [],
  };
  const files = {
    'shop/manifest.json': JSON.stringify(manifest),
    'shop/compose.yaml': 'services: {web: {image: "app:1"}}\n',
    'shop/.git/config': 'extraheader = AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hzX3NlY3JldA==\n',
    'bin/curl': `#!/bin/sh\ncat >deployctl.cjs <<'E'\n${program}E\n`,
    token: `${at.deployer.token}\n`,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  await chmod(join(dir, 'bin/curl'), 0o755);
  await chmod(join(dir, 'token'), 0o666);
  const own = { PATH: `${join(dir, 'bin')}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: dir, CI: 'true' };
  const digest = createHash('sha256').update(program).digest('hex');
  return { dir, env: { ...own, DEPLOYCTL_URL: at.service.url, DEPLOYCTL_SHA256: digest } };
}

async function shell(script: string, { dir, env }: { dir: string; env: Env }) {
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { cwd: dir, env });
  const ended = once(child, 'exit') as Promise<[number]>;
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: output + errors };
}

/** Values of variables as a runner sets them; the test replaces some. */
function given(variables: Env, env: Env): Env {
  return { ...variables, ...env };
}

const jobs = {
  'GitLab CI': async (version: string, number: string) => {
    const job = await checkout(version);
    const { variables, script, allow_failure } = gitLab.deploy;
    const env = given(variables, { ...job.env, GITLAB_CI: 'true', CI_PIPELINE_IID: number });
    const { code, output } = await shell(script.join('\n'), {
      dir: job.dir,
      env: { ...env, DEPLOYCTL_TOKEN_FILE: join(job.dir, 'token') },
    });
    return { ...job, output, isLate: allow_failure.exit_codes.includes(code), isFailed: code !== 0 && code !== 3 };
  },
  'GitHub Actions': async (version: string, number: string) => {
    const job = await checkout(version);
    const { env, steps } = gitHub.jobs.deploy;
    let output = '';
    for (const step of steps.filter(({ run }) => run !== undefined)) {
      const secrets = step.env === undefined ? {} : { TOKEN: at.deployer.token };
      const own = given(env, { ...job.env, ...secrets, GITHUB_ACTIONS: 'true', GITHUB_RUN_NUMBER: number });
      const done = await shell(step.run ?? '', { dir: job.dir, env: own });
      output += done.output;
      if (done.code !== 0) return { ...job, output, isLate: false, isFailed: true };
    }
    return { ...job, output, isLate: output.includes('::notice::'), isFailed: false };
  },
};

describe.each(Object.entries(jobs))('the example of %s', (_, run) => {
  it('deploys a commit, again for a rerun, and not after a later pipeline', async () => {
    const desired = async () => (await at.viewer.json('env show eu-1'))['desired_sha'];
    const versionOf = async () => ((await at.viewer.json('env show eu-1'))['desired'] as { version: string }).version;
    const first = await run('one', '7');
    expect(first).toMatchObject({
      isFailed: false,
      isLate: false,
      output: expect.not.stringContaining('deployctl: ') as string,
    });
    expect(await versionOf()).toBe('one');
    const names = execFileSync('tar', ['-tzf', join(first.dir, 'shop.tar.gz')], { encoding: 'utf8' });
    expect(names.split('\n').filter(Boolean)).toEqual(['manifest.json', 'compose.yaml']);
    expect(await run('two', '8')).toMatchObject({ isFailed: false, isLate: false });
    expect(await versionOf()).toBe('two');
    const before = await desired();
    const late = await run('one again', '7');
    expect(late).toMatchObject({
      isFailed: false,
      isLate: true,
      output: expect.stringContaining('PIPELINE_STALE') as string,
    });
    expect(await desired()).toBe(before);
    expect(first.output + late.output).not.toMatch(/dpo_|eC1hY2Nl/);
  });
});
