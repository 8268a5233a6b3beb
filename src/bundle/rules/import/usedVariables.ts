import { isMap, isScalar, isSeq, visit } from 'yaml';
import type { Scalar } from 'yaml';
import { variablesOf } from '../compose/document/interpolation.ts';
import type { ProjectDocument } from './projectDocument.ts';
import { servicePartsOf } from './services.ts';
import { entriesAt, itemsAt, layersOf, resolve, scalarAt, textAt, valueAt, type MapNode } from './yamlNodes.ts';

/** The scalars of a document that are no keys: the texts in which compose replaces variables. */
export function valueScalars({ document }: ProjectDocument): Scalar<string>[] {
  const scalars: Scalar<string>[] = [];
  visit(document, {
    Scalar: (key, node) => {
      if (key !== 'key' && typeof node.value === 'string') scalars.push(node as Scalar<string>);
    },
  });
  return scalars;
}

/** Names of the variables in the texts of documents. */
export function variableNamesOf(documents: readonly ProjectDocument[]): string[] {
  const texts = documents.flatMap(valueScalars).map(({ value }) => value);
  return [...new Set(texts.flatMap((text) => variablesOf(text).uses.map(({ name }) => name)))];
}

/** Names that stand without `$`: in `environment` without a value, and as the `environment` of a config or secret. */
export function bareNamesOf(documents: readonly ProjectDocument[]): string[] {
  const environments = servicePartsOf(documents).flatMap(({ map, document }) => {
    const environment = resolve(valueAt(map, document, 'environment'), document);
    if (isSeq(environment)) return itemsAt(environment, document).flatMap((item) => bareItem(textAt(item, document)));
    if (!isMap(environment)) return [];
    const layers = layersOf(environment as MapNode, document).toReversed();
    const values = new Map(layers.flatMap((layer) => layer.items.map(({ key, value }) => [key.value, value] as const)));
    return [...values]
      .filter(([name, value]) => name !== '<<' && scalarAt(value, document) === null && !isCollection(value, document))
      .map(([name]) => name);
  });
  const contents = documents.flatMap((document) =>
    ['configs', 'secrets'].flatMap((section) =>
      entriesAt(valueAt(document.root, document, section), document).flatMap(
        ([, part]) => textAt(valueAt(part, document, 'environment'), document) ?? [],
      ),
    ),
  );
  return [...new Set([...environments, ...contents])];
}

function bareItem(text: string | null): string[] {
  return text === null || text === '' || text.includes('=') || text.includes('$') ? [] : [text];
}

function isCollection(value: unknown, document: ProjectDocument): boolean {
  const found = resolve(value, document);
  return found !== null && !isScalar(found);
}
