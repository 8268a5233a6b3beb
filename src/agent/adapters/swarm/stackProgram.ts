import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import type { Redactor } from '../../secrets/redaction/redactor.ts';
import { withLogins, type RegistryLogin } from '../compose/registryLogins.ts';
import { runProgram } from '../host/childProcess.ts';
import { dockerEnvironment, expectSuccess } from '../host/dockerProgram.ts';
import { composeLimitsOf } from '../host/resourceLimits.ts';

const probeTimeoutS = 10;

export type StackProgram = ReturnType<typeof createStackProgram>;

/** `docker stack` for one stack: an environment of its own, the stack file by stdin alone, since it holds secrets. */
export function createStackProgram(settings: Settings, project: string, { redactor }: { redactor: () => Redactor }) {
  const dir = join(settings.state_dir, settings.env, 'docker-config');
  const { up_timeout_s, down_timeout_s } = settings;
  const common = {
    cwd: dir,
    env: { ...dockerEnvironment(settings, dir), PWD: dir },
    limits: composeLimitsOf(totalmem()),
  };
  return {
    /** Throws when `docker` does not run. */
    probe: async (signal: AbortSignal): Promise<void> => {
      const call = { ...common, cwd: '/', redactor: redactor(), timeoutS: probeTimeoutS };
      const result = await runProgram({ ...call, argv: ['docker', '--version'] }, signal);
      expectSuccess('--version', result, { code: 'RUNTIME_UNAVAILABLE', timeoutS: probeTimeoutS });
    },

    /**
     * Creates and updates the stack's services, and removes others. Without logins the swarm keeps those that it has. Does
     * not wait for tasks. Throws `UP_FAILED`.
     */
    deploy: (file: object, logins: RegistryLogin[], signal: AbortSignal): Promise<void> =>
      withLogins(dir, logins, async () => {
        const options = ['--prune', '--resolve-image=never', '--compose-file', '-'];
        if (logins.length > 0) options.push('--with-registry-auth');
        const call = { ...common, redactor: redactor(), timeoutS: up_timeout_s, stdin: JSON.stringify(file) };
        const result = await runProgram({ ...call, argv: ['docker', 'stack', 'deploy', ...options, project] }, signal);
        expectSuccess('stack deploy', result, { code: 'UP_FAILED', timeoutS: up_timeout_s });
      }),

    /** Removes the stack; its tasks and networks go later. Throws `DOWN_FAILED`. */
    remove: (signal: AbortSignal): Promise<void> =>
      withLogins(dir, [], async () => {
        const call = { ...common, redactor: redactor(), timeoutS: down_timeout_s };
        const result = await runProgram({ ...call, argv: ['docker', 'stack', 'rm', project] }, signal);
        expectSuccess('stack rm', result, { code: 'DOWN_FAILED', timeoutS: down_timeout_s });
      }),
  };
}
