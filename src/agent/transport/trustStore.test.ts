import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCa, unreadableCertificate } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';
import type { HttpCall } from './httpRequest.ts';
import { openSystemRoots } from './trustStore.ts';

let bed: HttpTestbed;
let [file, bundle] = ['', ''];
beforeEach(async () => {
  const systemRoots = () => openSystemRoots(null, { bundlePaths: [bundle] });
  bed = await openHttpTestbed(() => ({ status: 200, body: {} }), systemRoots);
  [file, bundle] = [join(bed.dir, 'emptied.pem'), join(bed.dir, 'bundle.crt')];
});
afterEach(() => bed.close());

const signal = new AbortController().signal;
const calls = {
  tenancy: { peer: 'tenancy', operation: 'check-in', method: 'POST', path: '/check-in', requestId: 'tick-1', signal },
  secretstore: {
    peer: 'secretstore',
    operation: 'lookup',
    method: 'GET',
    path: '/v1/lookup',
    requestId: 'tick-1',
    signal,
  },
} as const satisfies Record<string, HttpCall>;
const [tenancy, secretstore] = ['tenancy', 'secretstore'] as const;

/** Texts without an authority: given an empty one, TLS would trust the public roots of the runtime. */
const nothing: [string, string][] = [
  ['is empty', ''],
  ['holds only a line end', '\n'],
  ['is truncated within its certificate', createCa().pem.slice(0, 200)],
  ['holds an unreadable certificate', unreadableCertificate],
];

describe.each([tenancy, secretstore])('a CA file of %s', (peer) => {
  const call = () => bed.client({ [`${peer}_ca`]: file }).http.call(calls[peer]);

  it.each(nothing)('that %s trusts nothing, and is named with a remedy', async (_what, text) => {
    await writeFile(file, text);
    await expect(call()).rejects.toMatchObject({
      code: 'TLS_UNTRUSTED',
      message: `TLS_UNTRUSTED: ${peer === tenancy ? 'tenancy service' : peer}: ${peer}_ca ${file} cannot be used (no certificate in it): store the certificate authority of the service there, in PEM`,
    });
    expect(bed.server.requests).toEqual([]);
  });

  it('is used with each readable certificate, whatever precedes it', async () => {
    await writeFile(file, unreadableCertificate + bed.ca.pem);
    expect(await call()).toMatchObject({ status: 200 });
  });
});

describe('the bundle of the system', () => {
  const call = () => bed.client({ tenancy_ca: null }).http.call(calls.tenancy);

  it.each(nothing)('that %s trusts nothing, and is named with a remedy', async (_what, text) => {
    await writeFile(bundle, text);
    await expect(call()).rejects.toMatchObject({
      code: 'TLS_UNTRUSTED',
      message: `TLS_UNTRUSTED: tenancy service: ${bundle} of the system cannot be used (no certificate in it): create it again (update-ca-certificates, update-ca-trust), or set tenancy_ca`,
    });
    expect(bed.server.requests).toEqual([]);
  });

  it('that exists but cannot be read is not replaced by another', async () => {
    bundle = bed.dir;
    await expect(call()).rejects.toMatchObject({
      message: expect.stringContaining(`${bed.dir} of the system`) as string,
    });
  });
});

it('a CA file that is emptied between two ticks of a loop trusts nothing from then on', async () => {
  await writeFile(file, bed.ca.pem);
  const { http, close } = bed.client({ tenancy_ca: file });
  expect(await http.call(calls.tenancy)).toMatchObject({ status: 200 });
  close();
  await writeFile(file, '');
  await expect(http.call(calls.tenancy)).rejects.toMatchObject({
    message: expect.stringContaining('no certificate in it') as string,
  });
});
