import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type ImageRegistry, startImageRegistry } from '../../../fixtures/world/servers/registry/imageRegistry.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { contentOf, signImage, storeFallbackTag, storeReferrer } from '../../../fixtures/world/signatures/signImage.ts';
import { key } from '../../../fixtures/world/signatures/trusted.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { Fault } from '../../../machines/fault.ts';
import type { ImageRule } from '../../api/trust.rules.ts';
import type { Settings } from '../config/settings.ts';
import { createRegistries } from '../engine/registries.ts';
import { Vault } from '../secrets/vault.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { type ImageDependencies, verifyImages } from './verifyImages.ts';

const ca = createCa();
const settings = { connect_timeout_s: 5, pull_timeout_s: 60 };
const image = contentOf('application/vnd.oci.image.index.v1+json', { schemaVersion: 2, manifests: [] });
const { digest } = image;

let registry: ImageRegistry;
beforeEach(async () => {
  registry = await startImageRegistry({ certificate: ca.issue(['127.0.0.1']) });
});
afterEach(() => registry.stop());

describe('the images of a bundle', () => {
  const services = Array.from({ length: 10 }, (_, at) => `service${at}`);

  /** Verifies one image for each service, with a timeout for calls. */
  function verifyAll(
    signal: AbortSignal,
    { http_timeout_s = 5, rules = [] as ImageRule[], otherKey = key.publicPem, state: past = emptyState('eu-1') } = {},
  ) {
    const vault = new Vault();
    const dir = tempDir();
    const [keyFile, otherFile] = [join(dir, 'key.pub'), join(dir, 'other.pub')];
    writeFileSync(keyFile, key.publicPem);
    writeFileSync(otherFile, otherKey);
    const state: { state: State; update: (change: Partial<State>) => Promise<void> } = {
      state: past,
      update: (change) => Promise.resolve(void Object.assign(state.state, change)),
    };
    const images = { keys: [otherFile], rules: rules.map((rule) => ({ ...rule, keys: [keyFile] })) };
    const own = { ...settings, http_timeout_s, trust: { bundles: null, images } } as unknown as Settings;
    const deps = {
      ...{ settings: own, vault, state, recordDecision: () => undefined },
      registries: createRegistries({
        settings: own,
        roots: { all: () => ({ path: 'ca', pem: ca.pem }) },
        version: '1',
      }),
    } as unknown as ImageDependencies;
    const references = services.map((service) => [service, `${registry.host}/${service}/web:1`] as const);
    const model = { services: new Map(references.map(([service, each]) => [service, { image: vault.conceal(each) }])) };
    const cargo = {
      bundle: { manifest: { registries: [] } },
      project: { services: new Map(references.map(([service, each]) => [service, [imageNode(each)]])) },
      model,
    } as unknown as Parameters<typeof verifyImages>[1];
    return { state, verdict: verifyImages(deps, cargo, signal) };
  }

  beforeEach(() => {
    for (const service of services) {
      registry.addManifest(`${service}/web`, '1', image);
      const referrer = storeReferrer(registry, `${service}/web`, digest, signImage(digest, key));
      storeFallbackTag(registry, `${service}/web`, digest, [referrer]);
    }
  });

  it('add at most 1.5 s for ten of them at 150 ms', async () => {
    const timed = async () => {
      const startedMs = performance.now();
      const { verdict, state } = verifyAll(new AbortController().signal);
      expect((await verdict).images.verified).toHaveLength(10);
      expect(state.state.trusted_images).toHaveLength(10);
      return performance.now() - startedMs;
    };
    const withoutDelayMs = await timed();
    registry.delay(150);
    expect((await timed()) - withoutDelayMs).toBeLessThan(1500);
  });

  it('are verified by the rule for their repository', async () => {
    const rules = ['service1', 'service2/web'].map((path) => ({ repository: `${registry.host}/${path}` }));
    const { verdict } = verifyAll(new AbortController().signal, { rules, otherKey: newSigningKey().publicPem });
    const refused = await verdict.catch((error: unknown) => (error as Fault).message);
    expect(refused).toContain('web:1 of service0: nobody who is trusted has signed');
    expect(refused).not.toMatch(/of service[12]:/);
  });

  it('are not asked for again before the end of a pause that the registry asked for, also in later ticks', async () => {
    registry.answerWith(/manifests/, { status: 429, headers: { 'retry-after': '120' } });
    const first = verifyAll(new AbortController().signal);
    await expect(first.verdict).rejects.toThrow('answers 429, and asks for no calls until');
    const { state } = first.state;
    expect(state.registry_pauses).toMatchObject([{ host: registry.host }]);
    const asked = registry.requests.length;
    await expect(verifyAll(new AbortController().signal, { state }).verdict).rejects.toThrow(
      'asked for no calls until',
    );
    expect(registry.requests).toHaveLength(asked);
  });

  it('are given up in time where a registry does not answer, and at once after SIGTERM', async () => {
    registry.fail('stall');
    const { verdict } = verifyAll(new AbortController().signal, { http_timeout_s: 0.2 });
    await expect(verdict).rejects.toMatchObject({ code: 'PULL_FAILED' });
    const stop = new AbortController();
    const stopped = verifyAll(stop.signal).verdict;
    await registry.waitForRequest(({ path }) => path.includes('service9'));
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ ending: 'stopped' });
  });
});

/** A service of a compose file with an image. */
function imageNode(text: string) {
  return { kind: 'map', entries: new Map([['image', { kind: 'scalar', text, isNull: false, line: 1 }]]), line: 1 };
}
