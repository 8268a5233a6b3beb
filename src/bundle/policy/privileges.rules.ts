import type { Refusal, RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import type { Denial, PermitKey } from '../../api/hostPolicy.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, itemsOf, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { serviceLayers } from '../compose/services.rules.ts';
import { faultsOf, type Finding, type PolicyFacts, refusalsOf, refuseUnpermitted } from './finding.rules.ts';
import {
  bindFault,
  holdsSocket,
  matchesGlob,
  permitEntry,
  type PermittedPrivilege,
  type PolicyHost,
  type Privilege,
} from './policyHost.rules.ts';
import { atKey } from './validators.rules.ts';

/** The facts that decide which findings are refused: the flags of the bundle, and the host with its policy. */
interface Grants {
  readonly agent: Manifest['agent'];
  readonly host: PolicyHost;
  /** True where the host has applied the same content, which may differ in the versions of secrets. */
  readonly isApplied?: boolean;
}

/** The refused privileges, and the privileges that only the policy of the host permits, each once. */
export interface Judgement {
  readonly refusals: Refusal[];
  readonly permitted: PermittedPrivilege[];
  /** The refused findings that another policy of the host would let through. */
  readonly unpermitted: Unpermitted[];
  /** The faults that would be refused in content that was not applied yet. */
  readonly warnings: RefusedFault[];
}

/** A fault that the policy of the host refuses. */
export interface Unpermitted {
  readonly code: Finding['code'];
  /** The service that it is about; null for a network or volume. */
  readonly service: string | null;
  /** The entry of `policy.permit` that would grant it, `binds /srv/shop`; null if no permit would. */
  readonly permit: string | null;
  readonly fault: RefusedFault;
}

/**
 * Decides about the findings (spec §12). A flag of the bundle lifts privileges unless the host denies that; a permit of the
 * host lifts the privilege that it names, whatever is denied to flags.
 */
export function judge(all: readonly Finding[], grants: Grants): Judgement {
  const isTolerated = (finding: Finding) => grants.isApplied === true && finding.whenApplied !== undefined;
  const findings = all.flatMap((finding) => (isTolerated(finding) ? (finding.whenApplied ?? []) : finding));
  const asked = findings.flatMap(({ privilege }) => (privilege?.permit === 'binds' ? privilege : []));
  const judged = findings.map((finding) => ({ finding, verdict: verdictOn(finding, grants, asked) }));
  const refused = judged.flatMap(({ verdict }) => (typeof verdict === 'string' ? [] : verdict));
  const privileges = judged.flatMap(({ finding: { privilege }, verdict }) =>
    verdict === 'permitted' && privilege ? privilege : [],
  );
  const permitted = privileges.map((privilege): PermittedPrivilege => {
    const { permit, service } = privilege;
    return { permit, entry: permitEntry(privilege), ...(service !== undefined && { service }) };
  });
  return {
    refusals: refusalsOf(refused),
    unpermitted: refused.filter((finding) => dependsOnHost(finding, grants)).map(unpermittedOf),
    permitted: [...new Map(permitted.map((each) => [JSON.stringify(each), each])).values()],
    warnings: faultsOf(all.filter(isTolerated)),
  };
}

/** Whether another policy would let a refused finding through: by a permit, or by a denial less. */
function dependsOnHost({ code, privilege, isUnpinned }: Finding, { agent }: Grants): boolean {
  if (code === 'COMPOSE_REFUSED') return isUnpinned === true;
  return privilege !== undefined || agent.allow_privileged;
}

function unpermittedOf({ code, text, cure, privilege }: Finding): Unpermitted {
  const [, owner] = /^service ([^\s:]+): /.exec(text) ?? [];
  const permit = privilege === undefined ? null : `${privilege.permit} ${permitEntry(privilege)}`;
  return { code, service: privilege?.service ?? owner ?? null, permit, fault: { text, cure } };
}

/** The reason that lifts a finding; otherwise the finding, whose cure says so if the host denies it. */
function verdictOn(finding: Finding, grants: Grants, asked: readonly Privilege[]): Finding | 'flagged' | 'permitted' {
  if (finding.code === 'COMPOSE_REFUSED') return finding;
  const denial = denialOf(finding, grants);
  if (grants.agent.allow_privileged && denial === undefined) return 'flagged';
  const fault = finding.privilege === undefined ? '' : permitFault(finding.privilege, grants, asked);
  if (fault === null) return 'permitted';
  const isDenied = denial !== undefined && grants.agent.allow_privileged;
  const denied = isDenied ? `policy.deny: ${denial} of this host outlives the flags of the bundle` : '';
  const cure = fault === '' ? finding.cure : fault;
  return { ...finding, cure: [denied, cure].filter(Boolean).join(', ') };
}

/** Why a privilege is not permitted, '' without a permit for it; null when it is permitted. */
function permitFault(privilege: Privilege, { host }: Grants, asked: readonly Privilege[]): string | null {
  const { permit, entry } = privilege;
  const entries = host.policy.permit[permit] ?? [];
  if (permit === 'binds') return bindFault(privilege, entries, { asked, host });
  if (permit === 'devices') return entries.some((pattern) => matchesGlob(pattern, entry)) ? null : '';
  const inOneSpelling = spellings[permit] ?? ((text) => text);
  return entries.map(inOneSpelling).includes(inOneSpelling(entry)) ? null : '';
}

/** Texts that compose files write in several ways. */
const spellings: Partial<Record<PermitKey, (text: string) => string>> = {
  capabilities: (name) => name.toUpperCase().replace(/^CAP_/, ''),
  security_opt: (option) => option.replace('=', ':'),
};

/** The denial of the host for a finding. */
function denialOf(finding: Finding, { host }: Grants): Denial | undefined {
  const kinds: Denial[] = finding.code === 'HOST_NETWORK_REFUSED' ? ['host_network'] : ['privileged'];
  if (givesSocket(finding, host)) kinds.push('engine_socket');
  return kinds.find((kind) => host.policy.deny.includes(kind));
}

function givesSocket({ privilege, hostPath }: Finding, { paths, engineSockets }: PolicyHost): boolean {
  if (privilege?.permit === 'engine_socket') return true;
  const mounted = privilege?.permit === 'binds' ? privilege.entry : hostPath;
  if (mounted === undefined) return false;
  return [mounted, paths?.resolved.get(mounted) ?? mounted].some((path) => holdsSocket(path, engineSockets));
}

/** A service that refers to another one, and the privileges of that one, which it then has too. */
interface Reference {
  readonly service: string;
  readonly to: string;
  readonly brings: readonly PermitKey[];
  readonly key: string;
  readonly value: ComposeNode;
  readonly file: string;
}

/** Privileges that are permitted by the name of a service. */
const byService: readonly PermitKey[] = [
  ...(['engine_socket', 'host_network', 'gpus', 'host_pid', 'host_ipc', 'privileged'] as const),
];

/** Keys by which a service refers to another; below /proc of a shared process namespace are the files of the other. */
const referringKeys: Readonly<Record<string, readonly PermitKey[]>> = {
  extends: byService,
  network_mode: ['host_network'],
  pid: ['host_pid', 'engine_socket'],
  ipc: ['host_ipc'],
  volumes_from: ['engine_socket'],
};

/**
 * The privileges that services have because they refer to a service that is permitted to have them. `found` are the findings
 * of the same files, `path` is '' for a rendered model.
 */
export function sharedPrivileges(
  files: readonly { path: string; root: ComposeNode }[],
  found: readonly Finding[],
  facts: PolicyFacts,
): Finding[] {
  const { permit } = facts.host.policy;
  const isPermitted = (privilege: Privilege) =>
    byService.includes(privilege.permit) && permit[privilege.permit]?.includes(privilege.entry) === true;
  const held = new Set(
    found.flatMap(({ privilege }) => (privilege && isPermitted(privilege) ? [keyOf(privilege)] : [])),
  );
  const references = held.size === 0 ? [] : files.flatMap(referencesOf);
  const shared: Finding[] = [];
  for (let before = -1; before !== held.size;) {
    before = held.size;
    for (const reference of references) {
      for (const privilege of privilegesBy(reference).filter((each) =>
        held.has(keyOf({ ...each, entry: reference.to })),
      )) {
        if (held.has(keyOf(privilege))) continue;
        held.add(keyOf(privilege));
        shared.push(...findingOf(reference, privilege, facts));
      }
    }
  }
  return shared;
}

function privilegesBy({ service, brings }: Reference): Privilege[] {
  return brings.map((permit) => ({ permit, entry: service }));
}

function keyOf({ permit, entry }: Privilege): string {
  return `${permit} ${entry}`;
}

function findingOf({ service, to, key, value, file }: Reference, privilege: Privilege, facts: PolicyFacts): Finding[] {
  const location = atKey({ facts, file, owner: `service ${printable(service)}`, keyPath: '' }, key);
  const message = `${printable(textOf(value) ?? to)} brings ${privilege.permit}`;
  return refuseUnpermitted(value, location, { ...privilege, message });
}

function referencesOf({ path, root }: { path: string; root: ComposeNode }): Reference[] {
  return [...serviceLayers([{ root }])].flatMap(([service, layers]) =>
    Object.entries(referringKeys).flatMap(([key, brings]) =>
      layers.flatMap((layer) =>
        itemsOf(valueAt(layer, key)).flatMap((value) => {
          const to = referredService(key, value);
          return to === null ? [] : [{ service, to, brings, key, value, file: path }];
        }),
      ),
    ),
  );
}

function referredService(key: string, value: ComposeNode): string | null {
  const written = textOf(valueAt(value, 'service') ?? value);
  if (written === null || key === 'extends') return written;
  if (key === 'volumes_from') return written.split(':', 1)[0] ?? null;
  return /^service:(.*)$/s.exec(written)?.[1] ?? null;
}
