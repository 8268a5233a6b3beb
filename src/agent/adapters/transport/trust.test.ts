import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCa, unreadableCertificate } from '../../../../fixtures/servers/ca.ts';
import { openTestbed, type Testbed } from '../../../../fixtures/testbed.ts';
import type { Settings } from '../../config/settings.ts';
import type { Call } from '../http/call.ts';
import { createHttp, type Http } from '../http/http.ts';
import { systemRoots } from './roots.ts';
import { createTransport } from './transport.ts';

let bed: Testbed<{ http: Http }>;
let [file, bundle] = ['', ''];
beforeEach(async () => {
  const connect = (settings: Settings) => {
    const transport = createTransport(settings, systemRoots(null, { bundles: [bundle] }));
    return { http: createHttp({ settings, transport, version: '0.2.0' }), close: transport.close };
  };
  bed = await openTestbed(connect, () => ({ status: 200, body: {} }));
  [file, bundle] = [join(bed.dir, 'emptied.pem'), join(bed.dir, 'bundle.crt')];
});
afterEach(() => bed.close());

const signal = new AbortController().signal;
const calls = {
  tenancy: { peer: 'tenancy', what: 'check-in', method: 'POST', path: '/check-in', requestId: 'tick-1', signal },
  secretstore: { peer: 'secretstore', what: 'lookup', method: 'GET', path: '/v1/lookup', requestId: 'tick-1', signal },
} as const satisfies Record<string, Call>;
const [tenancy, secretstore] = ['tenancy', 'secretstore'] as const;

/** Texts that hold no authority: of an empty one TLS makes the runtime's own public roots. */
const nothing: [string, string][] = [
  ['is empty', ''],
  ['holds a line end alone', '\n'],
  ['was cut off within its certificate', createCa().pem.slice(0, 200)],
  ['holds a certificate that cannot be read', unreadableCertificate],
];

describe.each([tenancy, secretstore])('a CA file of %s', (peer) => {
  const ask = () => bed.client({ [`${peer}_ca`]: file }).http.call(calls[peer]);

  it.each(nothing)('that %s trusts nobody, and is told by name with its cure', async (_what, text) => {
    await writeFile(file, text);
    await expect(ask()).rejects.toMatchObject({
      code: 'TLS_UNTRUSTED',
      message: `TLS_UNTRUSTED: ${peer === tenancy ? 'tenancy service' : peer}: ${peer}_ca ${file} cannot be used (no certificate in it): put the authority that the service is trusted by there, in PEM`,
    });
    expect(bed.server.requests).toEqual([]);
  });

  it('counts with each certificate that can be read, whatever stands before it', async () => {
    await writeFile(file, unreadableCertificate + bed.ca.pem);
    expect(await ask()).toMatchObject({ status: 200 });
  });
});

describe('the bundle of the system', () => {
  const ask = () => bed.client({ tenancy_ca: null }).http.call(calls.tenancy);

  it.each(nothing)('that %s trusts nobody, and is told by name with its cure', async (_what, text) => {
    await writeFile(bundle, text);
    await expect(ask()).rejects.toMatchObject({
      code: 'TLS_UNTRUSTED',
      message: `TLS_UNTRUSTED: tenancy service: ${bundle} of the system cannot be used (no certificate in it): make it anew (update-ca-certificates, update-ca-trust), or set tenancy_ca`,
    });
    expect(bed.server.requests).toEqual([]);
  });

  it('that is there and cannot be read is not replaced by another', async () => {
    bundle = bed.dir;
    await expect(ask()).rejects.toMatchObject({
      message: expect.stringContaining(`${bed.dir} of the system`) as string,
    });
  });
});

it('a CA file that is emptied between two ticks of a loop trusts nobody from then on', async () => {
  await writeFile(file, bed.ca.pem);
  const settings = bed.client({ tenancy_ca: file }).settings;
  const transport = createTransport(settings, systemRoots(null, { bundles: [bundle] }));
  const http = createHttp({ settings, transport, version: '0.2.0' });
  expect(await http.call(calls.tenancy)).toMatchObject({ status: 200 });
  transport.close();
  await writeFile(file, '');
  await expect(http.call(calls.tenancy)).rejects.toMatchObject({
    message: expect.stringContaining('no certificate in it') as string,
  });
});
