import { Fault } from '../../../../machines/fault.ts';
import type { Host } from '../../../../machines/words.ts';
import { ailingServices, type Expected } from '../../rules/health/unhealthyServices.ts';
import { reportedOf, type Seen } from '../../rules/health/health.ts';
import { expectedServices } from '../../rules/release/record.ts';
import { crashedServices } from './crashed.ts';
import type { Tools } from '../tools.ts';

const ENGINE_GONE: Host = { engine: false, healthy: false, halfMade: false, ailing: [], containers: [] };

/** What runs and whether it is well. An engine that does not answer is no fault here: the check-in still happens. */
export async function probeHost(tools: Tools): Promise<Host> {
  const { note, state, releases } = tools;
  const containers = await tools.containers.glance().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tools.tick.journal.warn(error.message);
    return null;
  });
  if (containers === null) {
    note({ word: 'engine-silent' });
    return ENGINE_GONE;
  }
  tools.tick.engineAnswered = true;
  const { applied_sha, attempt } = state.state;
  const record = applied_sha === null ? null : await releases.readRecord(applied_sha);
  const ailing = applied_sha === null ? [] : await ailingNow(tools, containers, expectedServices(record));
  const healthy = attempt === null && ailing.length === 0;
  if (ailing.length > 0) note({ word: 'ailing', services: ailing });
  if (attempt !== null) note({ word: 'half-made', sha: attempt.sha, phase: attempt.phase });
  return { engine: true, healthy, halfMade: attempt !== null, ailing, containers: containers.map(reportedOf) };
}

async function ailingNow(tools: Tools, containers: Seen[], expected: Expected[]): Promise<string[]> {
  const ailing = [...ailingServices(containers, expected), ...(await crashedServices(tools, containers))];
  return [...new Set(ailing)].sort();
}
