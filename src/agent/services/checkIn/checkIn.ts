import { arch, hostname, platform } from 'node:os';
import { Fault } from '../../../../machines/fault.ts';
import type { Host, Orders } from '../../../../machines/words.ts';
import { ordersOf } from '../../rules/schedule/orders.ts';
import { approach } from './approach.ts';
import { asBearer } from '../token/asBearer.ts';
import type { Tools } from '../tools.ts';

/** Tells the tenancy service what is applied and how it is; brings back this tick's orders (spec §10). */
export async function checkIn(tools: Tools, { host }: { host: Host }, signal: AbortSignal): Promise<Orders> {
  const { note, settings, state, tenancy, tick, version } = tools;
  const { env, site, transport, laptop_mode } = settings;
  const { applied_sha } = state.state;
  const body = {
    agent: { version, transport, laptop_mode },
    env,
    site,
    host: { name: hostname(), arch: arch(), os: platform() },
    applied_sha,
    healthy: host.healthy,
    containers: host.containers,
  };
  const ask = async (tries: number) => {
    const answer = await tenancy.checkIn(body, signal, tries);
    if (answer.env !== env) throw envMismatch(answer.env, env);
    return answer;
  };
  const { answer, isBack, pace } = await approach(tools, (tries) => asBearer(tools, () => ask(tries), signal));
  const at = new Date();
  await state.update({
    last_check_in: { at: at.toISOString(), action: answer.action, desired_sha: answer.desiredSha },
    ...(answer.production && state.state.baseline && { baseline: { ...state.state.baseline, volumes: null } }),
    pace,
  });
  tick.isBack = isBack;
  const orders = ordersOf(answer, { state: state.state, host, production: settings.production, now: at });
  const { action, desiredSha, pause, reason } = orders;
  tick.journal.info(`check-in: action=${action} desired=${desiredSha ?? 'none'} applied=${applied_sha ?? 'none'}`);
  note({ word: 'ordered', action, desired: desiredSha, applied: applied_sha, reason });
  if (pause !== null) note({ word: 'paused', seconds: pause.retryInS });
  return orders;
}

function envMismatch(theirs: string, ours: string): Fault {
  const line = `AGENT_ENV_MISMATCH: the token belongs to env ${theirs}, config.yaml says ${ours}`;
  return new Fault('envMismatch', line, { code: 'AGENT_ENV_MISMATCH' });
}
