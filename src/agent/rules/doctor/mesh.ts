import {
  checked,
  inapplicable,
  octal,
  unseen,
  type Agent,
  type Check,
  type FileFacts,
  type Finding,
} from './doctor.ts';
import type { Known } from '../plan/plan.ts';

/** The mesh identity of this host, and who watches over its permissions. */
export interface IdentityFacts {
  file: FileFacts;
  /** Name of the group that owns the file. */
  group: string;
  /** True when what lies there reads as an identity. */
  isIdentity: boolean | null;
  /** Whether `deployd-identity-acl.path` is active; unknown without systemd. */
  watched: Known<boolean>;
}

/** Ports on which something listens on this host. */
export type PortFacts = Known<readonly number[]>;

/** Under `transport: sdk`: readable by the agent today, after a rewrite too, and by nobody else (spec §15). */
export function judgeIdentity({ file, group, isIdentity, watched }: IdentityFacts, agent: Agent): Check {
  const { path, found, readable } = file;
  const name = 'mesh identity';
  if (found === 'hidden') return unseen(name, `${path} cannot be seen by this user: use sudo`);
  if (found === null) {
    return checked(name, path, [
      { what: `${path} does not exist`, fix: `sudo ziti edge enroll --jwt ENROLMENT.jwt --out ${path}` },
    ]);
  }
  const findings: Finding[] = [];
  const regrant = 'sudo systemctl start deployd-identity-acl.service';
  if (readable === false) findings.push({ what: `${agent.name} cannot read ${path}`, fix: regrant });
  if ((found.mode & 0o007) !== 0 || (found.mode & 0o020) !== 0)
    findings.push({ what: `${path} has mode ${octal(found.mode)}`, fix: `sudo chmod g-w,o= ${path}` });
  if (isIdentity === false)
    findings.push({ what: `${path} is no identity`, fix: `sudo ziti edge enroll --jwt ENROLMENT.jwt --out ${path}` });
  if (found.uid !== agent.uid && !agent.gids.includes(found.gid)) {
    const what = `${agent.name} is not in group ${group}: when the tunneller rewrites ${path}, it cannot read it any more`;
    findings.push({ what, fix: `sudo usermod -aG ${group} ${agent.name}` });
  }
  if ('is' in watched && !watched.is) {
    const what = 'deployd-identity-acl.path is not active: a rewrite with mode 0600 would lock the agent out';
    findings.push({ what, fix: 'sudo systemctl enable --now deployd-identity-acl.path' });
  }
  return checked(name, path, findings);
}

/** Under `transport: proxy`: something listens on both ports (spec §15). */
export function judgePorts(listening: PortFacts, wanted: readonly number[]): Check {
  const name = 'mesh proxy';
  if ('unknown' in listening) return unseen(name, listening.unknown);
  const closed = wanted.filter((port) => !listening.is.includes(port));
  const findings = closed.map((port) => {
    return { what: `nothing listens on 127.0.0.1:${port}`, fix: 'sudo systemctl enable --now deployd-proxy.service' };
  });
  return checked(name, `ports ${wanted.join(' and ')}`, findings);
}

/** For a check that only makes sense with another transport. */
export function otherTransport(name: string, transport: string): Check {
  return inapplicable(name, `transport is ${transport}`);
}

/** Ports that sockets listen on, from the kernel's table of TCP sockets. */
export function listeningPorts(table: string): number[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, , , state]) => state === '0A');
  return [...new Set(listening.map(([, local = '']) => Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16)))];
}
