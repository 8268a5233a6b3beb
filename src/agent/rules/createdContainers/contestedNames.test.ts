import { contestedNamesOf } from './contestedNames.ts';

const outside = { containers: new Set<string>(), networks: new Set(['proxy']), volumes: new Set(['media']) };
const root = {
  name: 'p',
  networks: {
    default: { name: 'p_default' },
    back: { name: 'back' },
    theirs: { name: 'ext', external: true },
    proxy: { name: 'proxy' },
  },
  volumes: { data: null, named: { name: 'named' }, media: { name: 'media' }, near: { name: 'p-near' } },
};

it('contested are names without the prefix of the project that nothing outside had', () => {
  expect(contestedNamesOf(root, outside)).toEqual({ networks: ['back'], volumes: ['named', 'p-near'] });
});

it('none is contested where the names outside are unknown', () => {
  expect(contestedNamesOf(root, null)).toEqual({ networks: [], volumes: [] });
});
