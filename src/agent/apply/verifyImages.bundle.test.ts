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
import type { Settings } from '../config/configKeys.ts';
import { createRegistries } from '../engine/registries.ts';
import { Vault } from '../secrets/vault.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import {
  type ImageDependencies,
  type VerifyAgainDependencies,
  verifyAppliedImages,
  verifyImages,
} from './verifyImages.ts';

const ca = createCa();
const settings = { connect_timeout_s: 5, pull_timeout_s: 60 };
const image = contentOf('application/vnd.oci.image.index.v1+json', { schemaVersion: 2, manifests: [] });
const { digest } = image;

let registry: ImageRegistry;
beforeEach(async () => {
  registry = await startImageRegistry({ certificate: ca.issue(['127.0.0.1']) });
});
afterEach(() => registry.stop());

/** A host that trusts one key for images of the rules, and another one for the others. */
function setUp({
  http_timeout_s = 5,
  rules = [] as ImageRule[],
  otherKey = key.publicPem,
  state: past = emptyState('eu-1'),
} = {}) {
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
  return { deps, state, vault };
}

describe('the images of a bundle', () => {
  const services = Array.from({ length: 10 }, (_, at) => `service${at}`);

  /** Verifies one image for each service, with a timeout for calls. */
  function verifyAll(
    signal: AbortSignal,
    { http_timeout_s = 5, rules = [] as ImageRule[], otherKey = key.publicPem, state: past = emptyState('eu-1') } = {},
  ) {
    const { deps, state, vault } = setUp({ http_timeout_s, rules, otherKey, state: past });
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

describe('the images of a release from before trust.images', () => {
  const stranger = newSigningKey();
  const sha = 'a'.repeat(64);

  /** The host looks at the release so many seconds after the start of the test; `signer` has signed its image by now. */
  function setUpRelease() {
    const reference = `${registry.host}/shop/web:1`;
    const { deps, state, vault } = setUp();
    const journal: string[] = [];
    const release = {
      sha,
      compose: ['compose.yaml'],
      images: [{ reference, id: 'sha256:id', digest }],
      containers: [],
    };
    const startMs = Date.now();
    const look = async (afterS: number, { isStart = false, by = [key.publicPem] } = {}) => {
      writeFileSync(deps.settings.trust.images!.keys![0]!, by[0]!);
      const asked = registry.requests.length;
      const parts = {
        compose: { renderModel: () => Promise.resolve({ services: { web: { image: reference } } }) },
        releases: {
          pathOf: () => tempDir(),
          readEnv: () => Promise.resolve(''),
          readRecord: () => Promise.resolve(release),
        },
        tick: {
          clock: { startedAt: new Date(startMs + afterS * 1000) },
          journal: { warn: (line: string) => journal.push(line) },
        },
      };
      const whole = { ...deps, ...parts } as unknown as VerifyAgainDependencies;
      const images = await verifyAppliedImages(whole, release, { isStart }, new AbortController().signal);
      return { signers: images.map(({ signers }) => signers), asks: registry.requests.length - asked };
    };
    return { look, journal, state, vault };
  }
  const sign = (by = key) => {
    const referrer = storeReferrer(registry, 'shop/web', digest, signImage(digest, by));
    storeFallbackTag(registry, 'shop/web', digest, [referrer]);
  };
  const signed = { signers: [[`key SHA256:${key.hint.replace('=', '')}`]] };
  const nothing = { signers: [], asks: 0 };

  it('are verified by the digests that ran, and recorded with their signers', async () => {
    const { look, state, journal } = setUpRelease();
    sign();
    expect(await look(0)).toMatchObject(signed);
    expect(state.state.applied_images).toMatchObject([
      { service: 'web', digest, repository: `${registry.host}/shop/web` },
    ]);
    expect(registry.requests.filter(({ path }) => path.endsWith('/manifests/1'))).toEqual([]);
    expect(journal).toEqual([]);
  });

  it('are asked for again after ten minutes, before a start once a tick, and after a change of trust', async () => {
    const { look, journal } = setUpRelease();
    expect(await look(0)).toMatchObject({ signers: [] });
    expect(journal).toEqual([expect.stringContaining('shop/web@sha256:') as string]);
    expect(journal[0]).toContain('of web is not verified: there is no signature');
    sign(stranger);
    expect(await look(1)).toEqual(nothing);
    expect(await look(0, { isStart: true })).toEqual(nothing);
    expect(await look(599)).toEqual(nothing);
    expect((await look(599, { isStart: true })).asks).toBeGreaterThan(0);
    expect(await look(600)).toEqual(nothing);
    expect((await look(1199)).asks).toBeGreaterThan(0);
    expect(await look(1200, { by: [stranger.publicPem] })).toMatchObject({ signers: [[expect.any(String)]] });
    expect((await look(1201)).asks).toBeGreaterThan(0);
    expect((await look(-3600)).asks).toBeGreaterThan(0);
  });

  it('stay as recorded where their registry does not answer', async () => {
    const { look, journal } = setUpRelease();
    registry.fail({ status: 503, code: 'UNAVAILABLE', message: 'later' }, 'manifest');
    expect(await look(0)).toMatchObject({ signers: [] });
    expect(journal).toEqual([expect.stringMatching(/of web cannot be verified: .*503/) as string]);
  });
});

/** A service of a compose file with an image. */
function imageNode(text: string) {
  return { kind: 'map', entries: new Map([['image', { kind: 'scalar', text, isNull: false, line: 1 }]]), line: 1 };
}
