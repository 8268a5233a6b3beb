import { monotonicMs } from '../platform/clock.ts';
import { version } from '../version.ts';
import {
  connectBundleStorage,
  connectCollector,
  connectIdentityProvider,
  connectMesh,
  connectSecretstore,
  connectWebhooks,
} from './connectPeers.ts';
import { readBytes, readToken } from './config/namedFiles.ts';
import type { TenancySettings } from './config/settings.ts';
import { createBearerCache } from './credentials/bearerCache.ts';
import { followKeyRing } from './credentials/followKeyRing.ts';
import { createSealer } from './credentials/sealer.ts';
import { lookUpPlaces } from './rules/places.ts';
import { limitLookUps } from './services/agents/limitLookUps.ts';
import { ChangeFeed } from './services/changeFeed.ts';
import { limitComparisons } from './services/bundles/compareBundles.ts';
import type { Dependencies, LogLine } from './services/dependencies.ts';
import type { Store } from './store/openStore.ts';

/** What is there before the service is put together. */
export interface TenancyParts {
  /** Of this version; whoever opened it closes it. */
  store: Store;
  keyFile: Uint8Array;
  log: LogLine;
}

/** The service without its HTTP interface and its background work. */
export interface Tenancy {
  deps: Dependencies;
  /** Closes all connections; the service's token at the secretstore is revoked if that can be done. */
  close: () => Promise<void>;
}

/** Puts the service together: settings → adapters → dependencies. Throws ConfigInvalid and KeyError; calls no peer. */
export async function createTenancy(
  settings: TenancySettings,
  { store, keyFile, log }: TenancyParts,
): Promise<Tenancy> {
  const clock = Date.now;
  const bundles = connectBundleStorage(settings);
  const secretstore = connectSecretstore(settings, { keys: () => keys.current(), clock });
  const mesh = connectMesh(settings);
  const identityProvider = connectIdentityProvider(settings);
  const kit = readKitFiles(settings);
  const spans = await connectCollector(settings, log);
  const onError = (error: unknown) => log('error', `the signing keys cannot be read anew: ${String(error)}`);
  const keys = await followKeyRing({ store, keyFile, onError });
  const bearerCounts = { hits: 0, misses: 0 };
  const lookUp = limitLookUps(secretstore.lookUpToken, lookUpPlaces(settings.max_requests));
  const deps: Dependencies = {
    ...{ settings, version, store, secretstore, bundles, mesh, kit, clock, log, spans, bearerCounts },
    startedAt: clock(),
    changes: new ChangeFeed({ store, onError: (error) => log('warn', `changes are not seen: ${String(error)}`) }),
    limitComparisons: limitComparisons(),
    postWebhook: connectWebhooks(settings),
    sealer: createSealer(keyFile),
    identityProvider,
    keys: keys.current,
    lookUpBearer: createBearerCache(lookUp, monotonicMs, bearerCounts),
  };
  const close = async () => {
    await keys.stop();
    await Promise.all([secretstore.close(), mesh?.close(), spans?.close()]);
  };
  return { deps, close };
}

function readKitFiles({ secretstore_ca, kit }: TenancySettings): Dependencies['kit'] {
  const { download_token_file: tokenFile } = kit;
  return {
    secretstoreCa: secretstore_ca && readBytes(secretstore_ca).toString('utf8'),
    downloadToken: tokenFile && readToken(tokenFile),
  };
}
