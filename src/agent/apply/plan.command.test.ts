import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createPublicCopy, needsRoot, nobodyUid, testIf } from '../../../fixtures/world/users.ts';
import type { Plan } from '../../bundle/plan/plan.rules.ts';

const cli = join(import.meta.dirname, '..', 'cli.ts');
let dir: string;
beforeEach(() => void (dir = tempDir()));

describe('the command `plan`', () => {
  const deployd = (args: string[], options: object = {}) =>
    spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', ...options });

  it('accepts a bundle, and --json before or after it', async () => {
    const { sha } = await bundle();
    const config = join(dir, 'config.yaml');
    await writeFile(config, configText());
    const result = deployd(['--config', config, 'plan', '--json', join(dir, 'bundle')]);
    expect(result.stderr).toBe('');
    expect(result.status).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ sha, refusals: [] });
  });

  it.each([
    [{}, 0],
    [{ orchestrator: 'swarm' }, 1],
    // the policy needs the paths of the engine, which is not running
    [{ orchestrator: 'swarm', policy: { permit: { binds: ['/srv'] } } }, 1],
  ])('validates a bundle for its orchestrator: %j', async (more, status) => {
    const web = { image: 'app:1', mac_address: '02:42:ac:11:00:02', volumes: ['/srv:/srv'] };
    const { bytes } = createBundle({ compose: { services: { web } }, agent: { allow_privileged: true } });
    const config = join(dir, 'config.yaml');
    await writeFile(join(dir, 'bundle'), bytes);
    await writeFile(config, configText(more));
    const result = deployd(['--config', config, 'plan', join(dir, 'bundle')]);
    expect(result.status).toBe(status);
    expect(result.stdout.includes('service web: mac_address is refused in a swarm')).toBe(status === 1);
  });

  it('prints one line for each fault', async () => {
    const web = { image: 'app:1', mac_addres: 'x', cap_ad: ['SYS_TIME'] };
    await writeFile(join(dir, 'bundle'), createBundle({ compose: { services: { web } } }).bytes);
    const { stdout } = deployd(['plan', join(dir, 'bundle')]);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^refused: COMPOSE_REFUSED: service web: mac_addres is not a known key/),
      expect.stringMatching(/^refused: COMPOSE_REFUSED: service web: cap_ad is not a known key/),
    ]);
  });

  it('exits 78 on a missing configuration file, 1 without a bundle', async () => {
    const { status, stderr } = deployd(['plan', join(dir, 'bundle'), '--config', join(dir, 'none.yaml')]);
    expect([status, stderr]).toEqual([78, expect.stringMatching(/^CONFIG_INVALID: .*none\.yaml: does not exist/)]);
    expect(deployd(['plan']).status).toBe(1);
  });

  testIf(needsRoot, 'names the state directory that the user may not read', async () => {
    await bundle();
    await mkdir(join(dir, 'state'), { mode: 0o700 });
    await writeFile(join(dir, 'state', 'state.json'), '{}');
    const config = join(dir, 'config.yaml');
    await writeFile(config, configText());
    await chmod(dir, 0o755);
    const publicCopy = createPublicCopy();
    const program = join(publicCopy.dir, 'dist', 'deployd.cjs');
    const args = [program, 'plan', '--json', join(dir, 'bundle'), '--config', config];
    const { status, stdout } = spawnSync(publicCopy.node, args, { encoding: 'utf8', uid: nobodyUid, cwd: '/' });
    publicCopy.remove();
    expect(status).toBe(0);
    const { not_judged } = JSON.parse(stdout) as Plan;
    const skipped = not_judged.find(({ codes }) => codes.includes('ROLLBACK_REFUSED'));
    expect(skipped?.why).toBe(`${join(dir, 'state')} is for its owner alone: run as that user, or as root`);
  });
});

async function bundle() {
  const created = createBundle({ compose: { services: { web: { image: 'app:1' } } } });
  await writeFile(join(dir, 'bundle'), created.bytes);
  return created;
}

function configText(more: object = {}): string {
  return JSON.stringify({
    env: 'eu-1',
    site: 'berlin',
    transport: 'system',
    tenancy_url: 'https://tenancy.example',
    secretstore_url: 'https://secretstore.example',
    state_dir: join(dir, 'state'),
    container_host: `unix://${dir}/no.sock`,
    ...more,
  });
}
