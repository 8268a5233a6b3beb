import { printable } from '../../../protocol/printable.ts';
import { isUnseen, normalizeHostPath } from '../compose/policy/hostPaths.ts';
import { directoryUse } from './directoryUse.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import type { ProjectDocument } from './projectDocument.ts';
import { joinPath } from './projectTree.ts';
import {
  entriesAt,
  mapAt,
  newMap,
  newScalar,
  removeKey,
  setValue,
  textAt,
  valueAt,
  type MapNode,
} from './yamlNodes.ts';

/**
 * Writes volumes that are directories so that a host can permit them by their path; those of the project, of a home and of
 * `/tmp` become volumes of the engine.
 */
export function replaceVolumeDrivers(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, volume] of entriesAt(valueAt(document.root, document, 'volumes'), document)) {
      const map = mapAt(volume, document);
      if (map !== null) replaceDriver(map, { work, document, owner: `volume ${name}` });
    }
  }
}

interface DriverContext {
  work: ImportWork;
  document: ProjectDocument;
  owner: string;
}

function replaceDriver(map: MapNode, context: DriverContext): void {
  const { work, document, owner } = context;
  const mountpoint = textAt(valueAt(map, document, 'driver_opts', 'mountpoint'), document);
  if (textAt(valueAt(map, document, 'driver'), document) === 'local-persist' && mountpoint !== null) {
    setValue(map, 'driver', newScalar('local'));
    setValue(map, 'driver_opts', bindOptions(mountpoint));
    tellChange(work, { owner, key: 'driver' }, [
      `local-persist is a bind of ${printable(mountpoint)} now`,
      'a host permits directories, but no drivers',
    ]);
  }
  const isBind =
    textAt(valueAt(map, document, 'driver_opts', 'o'), document)
      ?.split(',')
      .includes('bind') === true;
  const device = textAt(valueAt(map, document, 'driver_opts', 'device'), document);
  if (isBind && device !== null && !device.includes('$')) replaceDirectory(map, device, context);
}

function bindOptions(device: string): MapNode {
  const options = newMap();
  for (const [key, text] of Object.entries({ type: 'none', o: 'bind', device }))
    setValue(options, key, newScalar(text));
  return options;
}

function replaceDirectory(map: MapNode, device: string, { work, owner }: DriverContext): void {
  const place = { owner, key: 'driver_opts' };
  if (device.startsWith('/') && !isUnseen(normalizeHostPath(device))) return;
  if (!/^[/~]/.test(device) && isConfiguration(joinPath('.', device), work)) {
    leaveUndecided(work, place, [`${printable(device)} holds configuration`, 'mount it by its path instead']);
    return;
  }
  for (const key of ['driver', 'driver_opts']) removeKey(map, key);
  tellChange(work, place, [`${printable(device)} is a volume of the engine now`, 'copy what is there into it']);
}

function isConfiguration(path: string, { tree }: ImportWork): boolean {
  return tree.kindOf(path) === 'directory' && directoryUse(tree.filesBelow(path), '', false) === 'config';
}
