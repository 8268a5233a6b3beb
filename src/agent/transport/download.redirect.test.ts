import { writeFile } from 'node:fs/promises';
import {
  bundle,
  type DownloadTestbed,
  openDownloadTestbed,
  route,
  traceparent,
} from '../../../fixtures/world/servers/http/downloadTestbed.ts';

let bed: DownloadTestbed;
beforeEach(async () => void (bed = await openDownloadTestbed()));
afterEach(() => bed.close());

describe('a redirect', () => {
  let elsewhere: DownloadTestbed;
  beforeEach(async () => {
    elsewhere = await openDownloadTestbed();
    elsewhere.server.setCertificate(bed.ca.issue(['127.0.0.1']));
  });
  afterEach(() => elsewhere.close());

  const redirect = (location: string) => bed.server.answerAlways(route, { status: 302, headers: { location } });

  test('to another origin is followed without the bearer and the trace', async () => {
    redirect(`${elsewhere.server.url}/storage?signature=1`);
    await writeFile(bed.partialFile, bundle.subarray(0, 1_000_000));
    await bed.download();
    await bed.expectComplete();
    expect(elsewhere.received).toHaveLength(1);
    expect(elsewhere.received[0]!.headers).toMatchObject({ range: 'bytes=1000000-' });
    expect(elsewhere.received[0]!.headers).not.toHaveProperty('authorization');
    expect(elsewhere.received[0]!.headers).not.toHaveProperty('traceparent');
  });

  test('within the origin keeps both', async () => {
    redirect('/elsewhere');
    await bed.download();
    await bed.expectComplete();
    expect(bed.received.at(-1)).toMatchObject({
      path: '/elsewhere',
      headers: { authorization: 'Bearer s.agenttoken', traceparent },
    });
  });

  it('to a server with a certificate of another authority names that server', async () => {
    elsewhere.server.setCertificate(elsewhere.certificate);
    redirect(`${elsewhere.server.url}/storage`);
    await expect(bed.download()).rejects.toMatchObject({
      message: expect.stringContaining(`TLS_UNTRUSTED: storage host ${elsewhere.server.url}: `) as string,
    });
    expect(elsewhere.received).toHaveLength(0);
  });

  describe('with a link that the storage host rejects', () => {
    const storage = () => `storage host ${elsewhere.server.url}`;
    beforeEach(() => redirect(`${elsewhere.server.url}/storage`));

    it.each<[string, number, object]>([
      ['401', 401, {}],
      ['403', 403, {}],
      [
        '403 with an error body of the tenancy service',
        403,
        { error: { code: 'AGENT_ENV_MISMATCH', message: 'another env' } },
      ],
      ['404', 404, {}],
      ['410', 410, {}],
    ])('by %s fails the download after three links', async (_what, status, json) => {
      elsewhere.server.answerAlways('/storage', { status, body: JSON.stringify(json) });
      await expect(bed.download()).rejects.toMatchObject({
        ending: 'failed',
        code: 'PROTOCOL_INVALID',
        message: expect.stringContaining(`PROTOCOL_INVALID: ${storage()}: bundle answered ${status}`) as string,
      });
      expect([bed.server.requests.length, elsewhere.server.requests.length]).toEqual([3, 3]);
    });

    it('is followed by a request for a new link', async () => {
      await writeFile(bed.partialFile, bundle.subarray(0, 1_000_000));
      elsewhere.server.answerNext('/storage', { status: 403 });
      await bed.download();
      await bed.expectComplete();
      expect(elsewhere.received.map(({ headers }) => headers.range)).toEqual(['bytes=1000000-']);
    });

    it('by a timeout is temporary, and names the storage host', async () => {
      elsewhere.server.answerAlways('/storage', { status: 503 });
      await expect(bed.download()).rejects.toMatchObject({
        ending: 'offline',
        message: `temporary network failure: ${storage()}: bundle answered 503`,
      });
    });

    it('by an unexpected status names the storage host', async () => {
      elsewhere.server.answerAlways('/storage', { status: 204 });
      await expect(bed.download()).rejects.toMatchObject({
        message: `PROTOCOL_INVALID: ${storage()}: bundle answered 204`,
      });
    });
  });

  it.each([
    'http://192.0.2.1/',
    'http://127.0.0.1:2375/',
    'http://localhost/',
    'ftp://127.0.0.1/',
    'https://user:pass@127.0.0.1/',
    'http://',
    '',
  ])('to %j is not followed', async (location) => {
    redirect(location);
    await expect(bed.download()).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
  });

  test('is followed three times, not four', async () => {
    redirect(route);
    await expect(bed.download()).rejects.toMatchObject({ message: 'PROTOCOL_INVALID: bundle: more than 3 redirects' });
    expect(bed.server.requests).toHaveLength(4);
  });
});
