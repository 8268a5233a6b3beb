import { tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf } from './services.ts';
import { entriesAt, mapAt, removeKey, textAt, valueAt } from './yamlNodes.ts';

/** Makes networks of a swarm those of one host. */
export function replaceOverlays(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, network] of entriesAt(valueAt(document.root, document, 'networks'), document)) {
      const map = mapAt(network, document);
      if (map === null || textAt(valueAt(map, document, 'driver'), document) !== 'overlay') continue;
      for (const key of ['driver', 'driver_opts']) removeKey(map, key);
      const place = { owner: `network ${name}`, key: 'driver' };
      tellChange(work, place, ['overlay is left out', 'a bundle runs on one host, which is no swarm']);
    }
  }
}

/** Lets services of the engine's own bridge, which containers of all projects share, join the network of their project. */
export function replaceSharedBridge(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const isShared = textAt(valueAt(map, document, 'network_mode'), document) === 'bridge';
    if (isShared && removeKey(map, 'network_mode'))
      tellChange(work, { owner, key: 'network_mode' }, ['bridge is left out', 'containers of all projects share it']);
  }
}
