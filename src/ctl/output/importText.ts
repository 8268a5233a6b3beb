import type { ImportVerdict } from '../../bundle/rules/import/importVerdict.ts';
import { permitLines } from '../../bundle/rules/import/permits.ts';
import type { ImportedBundle } from '../../bundle/rules/import/importProject.ts';
import { formatRefusal } from '../../../machines/refusals.ts';
import { formatFacts } from './table.ts';
import { harmless } from './text.ts';

/** An imported bundle: what was changed, what it needs, and what is left to decide. */
export function formatImport(imported: ImportVerdict & { directory: string; bundle: ImportedBundle }): string {
  const { directory, bundle, permits, plan } = imported;
  const { manifest, composeFiles, copies, report } = bundle;
  const facts = formatFacts([
    ['bundle', `${manifest.name}, for env ${manifest.env}`],
    ['directory', directory],
    ['compose files', [...composeFiles.keys()].join(', ')],
    ['profiles', manifest.profiles?.join(', ') ?? null],
    ['other files', copies.size === 0 ? null : String(copies.size)],
  ]);
  const sections: [string, string[]][] = [
    ['changed', report.changes.map(({ owner, key, what, why }) => `${owner}: ${key}: ${what}: ${why}`)],
    ['profiles that are not chosen (--profile NAME chooses one)', report.inactive_profiles],
    ['variables', Object.entries(manifest.variables ?? {}).map(([name, value]) => `${name}=${value}`)],
    ['secrets to put', manifest.secrets.map((secret) => secretLine(secret, manifest.env))],
    ['permits that a host needs, in its config.yaml', permitLines(permits)],
    ['left to decide', report.undecided.map(({ owner, key, what, cure }) => `${owner}: ${key}: ${what} → ${cure}`)],
    ['refused', plan.refusals.map((refusal) => `${refusal.code}: ${formatRefusal(refusal)}`)],
  ];
  const told = sections.filter(([, lines]) => lines.length > 0);
  const verdict =
    plan.refusals.length === 0
      ? ['', permitLines(permits).length === 0 ? 'nothing is refused' : 'nothing is refused with these permits']
      : [];
  return [
    facts,
    ...told.flatMap(([title, lines]) => ['', title, ...lines.map((line) => `  ${harmless(line)}`)]),
    ...verdict,
  ].join('\n');
}

function secretLine(
  { var: variable, path, field }: ImportedBundle['manifest']['secrets'][number],
  env: string,
): string {
  return `deployctl secret set ${env} ${path.split('/').at(-1) ?? path} --field ${field}   # ${variable}`;
}
