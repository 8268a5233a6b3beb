import {
  type Check,
  checkResult,
  type Fact,
  type FileFacts,
  type Finding,
  formatMode,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../../core/doctor.rules.ts';

/** Facts of the mesh identity of this host and of the unit that repairs its permissions. */
export interface IdentityFacts {
  file: FileFacts;
  /** Name of the group that owns the file. */
  group: string;
  /** True when the file is a valid identity; null when it cannot be read. */
  isIdentity: boolean | null;
  /** Whether `deployd-identity-acl.path` is active; unknown without systemd. */
  watched: Fact<boolean>;
}

/** Listening TCP ports of this host. */
export type PortFacts = Fact<readonly number[]>;

/** For `transport: sdk`: only the agent can read the identity, also after the tunneller rewrites it (spec §15). */
export function checkIdentity({ file, group, isIdentity, watched }: IdentityFacts, agent: ProgramUser): Check {
  const { path, found, readable } = file;
  const name = 'mesh identity';
  if (found === 'hidden') return unknownCheck(name, `${path} cannot be seen by this user: use sudo`);
  if (found === null) {
    return checkResult(name, path, [
      { problem: `${path} does not exist`, fix: `sudo ziti edge enroll --jwt ENROLMENT.jwt --out ${path}` },
    ]);
  }
  const findings: Finding[] = [];
  const regrant = 'sudo systemctl start deployd-identity-acl.service';
  if (readable === false) findings.push({ problem: `${agent.name} cannot read ${path}`, fix: regrant });
  if ((found.mode & 0o027) !== 0)
    findings.push({ problem: `${path} has mode ${formatMode(found.mode)}`, fix: `sudo chmod g-w,o= ${path}` });
  if (isIdentity === false)
    findings.push({
      problem: `${path} is no identity`,
      fix: `sudo ziti edge enroll --jwt ENROLMENT.jwt --out ${path}`,
    });
  if (found.uid !== agent.uid && !agent.gids.includes(found.gid)) {
    const problem = `${agent.name} is not in group ${group}: when the tunneller rewrites ${path}, it cannot read it any more`;
    findings.push({ problem, fix: `sudo usermod -aG ${group} ${agent.name}` });
  }
  if ('known' in watched && !watched.known) {
    const problem = 'deployd-identity-acl.path is not active: a rewrite with mode 0600 would lock the agent out';
    findings.push({ problem, fix: 'sudo systemctl enable --now deployd-identity-acl.path' });
  }
  return checkResult(name, path, findings);
}

/** For `transport: proxy`: both ports have a listener (spec §15). */
export function checkProxyPorts(listening: PortFacts, ports: readonly number[]): Check {
  const name = 'mesh proxy';
  if ('unknown' in listening) return unknownCheck(name, listening.unknown);
  const closed = ports.filter((port) => !listening.known.includes(port));
  const findings = closed.map((port) => {
    return {
      problem: `nothing listens on 127.0.0.1:${port}`,
      fix: 'sudo systemctl enable --now deployd-proxy.service',
    };
  });
  return checkResult(name, `ports ${ports.join(' and ')}`, findings);
}

/** The result of a check that applies only to another transport. */
export function inapplicableForTransport(name: string, transport: string): Check {
  return inapplicableCheck(name, `transport is ${transport}`);
}

/** Listening ports in the kernel's table of TCP sockets (`/proc/net/tcp`). */
export function parseListeningPorts(table: string): number[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, , , state]) => state === '0A');
  return [...new Set(listening.map(([, local = '']) => Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16)))];
}
