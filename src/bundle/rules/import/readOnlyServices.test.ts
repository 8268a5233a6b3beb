import { expectImport, type ExpectedImport, type ProjectFiles } from '../../../../fixtures/import/importing.ts';

describe('a service with a read-only filesystem', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport]>([
    [
      'is left open with a secret, which is no file in a bundle',
      '{image: x, read_only: true, secrets: [{source: key}]}}\nsecrets: {key: {file: ./key}',
      { key: 'hunter2' },
      {
        secrets: ['KEY'],
        undecided: [/^service a: read_only: compose cannot copy the secret key into it → leave read_only/],
      },
    ],
    [
      'is left open with a config that is written out',
      '{image: x, read_only: "true", configs: [conf]}}\nconfigs: {conf: {content: a}',
      {},
      { undecided: [/compose cannot copy the config conf into it/] },
    ],
    [
      'may have a config that is a file',
      '{image: x, read_only: true, configs: [conf]}}\nconfigs: {conf: {file: ./a.conf}',
      { 'a.conf': 'x' },
      { copies: ['a.conf'] },
    ],
    [
      'is none where that is false',
      '{image: x, read_only: false, secrets: [key]}}\nsecrets: {key: {environment: KEY}',
      {},
      { secrets: ['KEY'] },
    ],
  ])('%s', (_, service, more, expected) => {
    expectImport([service, more], expected);
  });
});
