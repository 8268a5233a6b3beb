import type { CtlSettings } from '../config/configKeys.ts';
import { publicSigstore, sigstoreOf, type SigstoreOptions } from './keyless.ts';

const none = { fulcio: null, rekor: null, tsa: null, root: null };
const own = { fulcio: 'https://ca.own', rekor: 'https://log.own/a', tsa: 'https://tsa.own/t', root: '/own.json' };
const other = { fulcio: 'https://ca.b', rekor: 'https://log.b', tsa: 'https://tsa.b/t', root: 'b.json' };

function targetOf(options: SigstoreOptions, sigstore: CtlSettings['sigstore']) {
  const target = sigstoreOf(options, { url: null, token_file: null, ca_file: null, sigstore });
  return { ...target, fulcio: target.fulcio.href, rekor: target.rekor.href, tsa: target.tsa?.href ?? null };
}

it('is the public instance by default, without a timestamp authority and a trust root', () => {
  expect(publicSigstore).toEqual({ fulcio: 'https://fulcio.sigstore.dev', rekor: 'https://rekor.sigstore.dev' });
  expect(targetOf({}, none)).toEqual({
    ...{ fulcio: 'https://fulcio.sigstore.dev/', rekor: 'https://rekor.sigstore.dev/' },
    ...{ tsa: null, root: null },
  });
});

it.each<[string, SigstoreOptions, object]>([
  ['config.yaml', {}, { ...own, fulcio: 'https://ca.own/' }],
  ['the command line', other, { ...other, fulcio: 'https://ca.b/', rekor: 'https://log.b/' }],
  ['both', { root: 'b.json' }, { ...own, fulcio: 'https://ca.own/', root: 'b.json' }],
])('is the target of %s', (_where, options, target) => {
  expect(targetOf(options, own)).toEqual(target);
});

const { fulcio, rekor } = own;

function errorOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

it.each<[string, SigstoreOptions, CtlSettings['sigstore']]>([
  ['a certificate authority', { fulcio }, none],
  ['a log', { rekor }, none],
  ['a certificate authority in config.yaml', {}, { ...none, fulcio }],
])('never mixes %s with the public instance', (_what, options, sigstore) => {
  const fields = {
    code: 'SIGSTORE_INVALID',
    message: 'name --fulcio and --rekor, or neither',
    remedy: 'with neither, the public instance is asked, whose log shows everybody who signs',
  };
  expect(errorOf(() => targetOf(options, sigstore))).toMatchObject({ fields });
});

it.each([
  ['fulcio', 'Fulcio (--fulcio)'],
  ['rekor', 'Rekor (--rekor)'],
  ['tsa', 'the timestamp authority (--tsa)'],
])('rejects addresses of %s in clear text, and values that are not addresses', (service, name) => {
  const targetAt = (address: string) => () => targetOf({ [service]: address }, own);
  expect(targetAt('http://service.example')).toThrow('URL_INVALID: http://service.example');
  expect(targetAt('service.example')).toThrow(`URL_INVALID: the address of ${name} is not an https:// URL`);
});
