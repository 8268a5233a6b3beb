import type { Manifest, Refusal } from '../../../machines/words.ts';
import { variablesOf } from '../variables.ts';
import { refusalsOf, refuse, type Facts, type Finding } from './finding.ts';
import { extendsFault } from './layers.ts';
import { fileKeys } from './sections.ts';
import { keys } from './shapes.ts';
import { at, entriesOf, scalarsOf, type ComposeFile } from './tree.ts';

const judgeFile = keys(fileKeys);

/**
 * Judges a bundle's compose files by an allow-list (spec §12). Every file is judged by itself: what compose merges from
 * several is made of values that all were judged where they stand. `allow_privileged` lifts power and host network only.
 */
export function judgeCompose(
  files: readonly ComposeFile[],
  context: Facts & { readonly manifest: Manifest },
): Refusal[] {
  const composeFiles = files.map(({ path }) => path);
  const findings = files.flatMap((file) => findingsOf(file, { ...context, composeFiles }));
  const isLifted = (finding: Finding) => context.manifest.agent.allow_privileged && finding.code !== 'COMPOSE_REFUSED';
  return refusalsOf([...findings.filter((finding) => !isLifted(finding)), ...judgeServices(files)]);
}

function findingsOf({ path, root }: ComposeFile, facts: Facts): Finding[] {
  const place = { facts, file: path, where: 'file', key: '' };
  const malformed = scalarsOf(root).flatMap((scalar) => {
    const { error } = variablesOf(scalar.text);
    return error === undefined ? [] : refuse(scalar, place, error);
  });
  const services = at(root, 'services');
  const extending = entriesOf(services).flatMap(([name, service]) => {
    const fault = extendsFault(services, name);
    return fault === null ? [] : refuse(service, { ...place, where: `service ${name}` }, fault);
  });
  return [...judgeFile(root, place), ...extending, ...malformed];
}

function judgeServices(files: readonly ComposeFile[]): Finding[] {
  const hasService = files.some(({ root }) => entriesOf(at(root, 'services')).length > 0);
  return hasService ? [] : [{ code: 'COMPOSE_REFUSED', text: 'no compose file has a service' }];
}
