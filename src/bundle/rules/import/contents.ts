import type { Scalar } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { bringFile, isKeyFile } from './bringFiles.ts';
import { leaveUndecided, tellChange, type ImportWork, type Place } from './importWork.ts';
import type { ProjectDocument } from './projectDocument.ts';
import { joinPath } from './projectTree.ts';
import {
  entriesAt,
  isYesAt,
  mapAt,
  newScalar,
  removeKey,
  scalarAt,
  setText,
  setValue,
  textAt,
  valueAt,
  type MapNode,
} from './yamlNodes.ts';

/** Brings the files of configs along; secrets, and configs that hold a key, get their content from the secretstore. */
export function replaceContents(work: ImportWork): void {
  for (const document of work.documents) {
    for (const section of ['configs', 'secrets'] as const) {
      for (const [name, part] of entriesAt(valueAt(document.root, document, section), document)) {
        const map = mapAt(part, document);
        const place = { owner: `${section.slice(0, -1)} ${name}`, key: 'file' };
        if (map !== null) replaceContent(map, { work, document, place, name, isSecret: section === 'secrets' });
      }
    }
  }
}

interface Context {
  work: ImportWork;
  document: ProjectDocument;
  place: Place;
  name: string;
  isSecret: boolean;
}

function replaceContent(map: MapNode, context: Context): void {
  const { work, document, place, isSecret } = context;
  const file = scalarAt(valueAt(map, document, 'file'), document);
  const variable = textAt(valueAt(map, document, 'environment'), document);
  const isExternal = isYesAt(valueAt(map, document, 'external'), document);
  if (isSecret && variable !== null) work.register.secrets.add(variable);
  else if (isSecret && (file !== null || isExternal)) readFromSecretstore(map, context);
  else if (isExternal) leaveUndecided(work, place, ['comes from outside the project', 'make it a file of the project']);
  else if (file !== null && !file.value.includes('$')) bringContent(map, file, context);
}

function bringContent(map: MapNode, file: Scalar<string>, context: Context): void {
  const { work, place } = context;
  const path = joinPath('.', file.value);
  if (/^[/~]/.test(file.value) || work.tree.kindOf(path) !== 'file')
    leaveUndecided(work, place, [`${printable(file.value)} is no file of the project`, 'make it one']);
  else if (isKeyFile(path, work)) readFromSecretstore(map, context);
  else if (bringFile(path, work) !== path) setText(file, `./${bringFile(path, work)}`);
}

function readFromSecretstore(map: MapNode, { work, place, name }: Context): void {
  const variable = work.register.variableFor(name.toUpperCase(), 'FILE', `file of ${name}`);
  for (const key of ['file', 'external', 'name', 'driver', 'driver_opts']) removeKey(map, key);
  setValue(map, 'environment', newScalar(variable));
  tellChange(work, place, [`its content is the variable ${variable} now`, 'it is a secret, and a bundle holds none']);
}
