import { printable } from '../../../protocol/printable.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import { effectiveOf, serviceNamesOf, servicePartsOf } from './services.ts';
import { entriesAt, mapAt, newScalar, removeKey, setValue, textAt, valueAt } from './yamlNodes.ts';

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

/** Lets services that join a container of their project by its name join the service that it belongs to. */
export function replaceOwnContainers(work: ImportWork): void {
  const { documents } = work;
  const services = new Map(
    serviceNamesOf(documents).flatMap((service) => {
      const found = effectiveOf(documents, service, 'container_name');
      const name = found === null ? null : textAt(found.value, found.document);
      return name === null ? [] : [[name, service] as const];
    }),
  );
  for (const { map, document, owner } of servicePartsOf(documents)) {
    for (const key of ['network_mode', 'pid', 'ipc']) {
      const written = textAt(valueAt(map, document, key), document) ?? '';
      const service = services.get(/^container:(.*)$/s.exec(written)?.[1] ?? '');
      if (service === undefined) continue;
      setValue(map, key, newScalar(`service:${service}`));
      const what = `${printable(written)} is written as service:${printable(service)}`;
      tellChange(work, { owner, key }, [what, 'the container belongs to the project']);
    }
  }
}

/** Takes out the names of bridges on the host, which no host permits. */
export function removeBridgeNames(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, network] of entriesAt(valueAt(document.root, document, 'networks'), document)) {
      const options = mapAt(valueAt(network, document, 'driver_opts'), document);
      if (!removeKey(options, bridgeName)) continue;
      if (options?.items.length === 0) removeKey(mapAt(network, document), 'driver_opts');
      tellChange(work, { owner: `network ${name}`, key: 'driver_opts' }, [
        `${bridgeName} is left out`,
        'no host permits it; the engine names the bridge',
      ]);
    }
  }
}

const bridgeName = 'com.docker.network.bridge.name';
