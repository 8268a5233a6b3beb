import { exposesDirectory } from './mountPath.ts';

describe('a mount', () => {
  it.each([
    ['/r/a', '/r/a', true],
    ['/r/a/conf/x', '/r/a', true],
    ['/r/', '/r/a', true],
    ['/', '/r/a', true],
    ['/r/ab', '/r/a', false],
    ['/r/b', '/r/a', false],
  ])('of %j exposes %j: %s', (source, directory, does) => expect(exposesDirectory(source, directory)).toBe(does));
});
