import { byName, present, release } from '../../../fixtures/world/bundles/comparableRelease.ts';
import { changesOf } from './changes.rules.ts';

describe('a volume', () => {
  const after = release(
    'services: {a: {volumes: ["data:/d", {type: volume, source: logs, target: /l}]}}\nvolumes: {data: , logs: {name: deployd-eu-1_x}, idle: }',
  );

  it('is new, unchanged or unused', () => {
    const there = ['deployd-eu-1_data', 'deployd-eu-1_old', 'deployd-eu-10_data', 'deployd-eu-1_idle'];
    expect(byName(changesOf(after, [], present(null, [], there)).volumes)).toEqual({
      'deployd-eu-1_data': 'unchanged',
      'deployd-eu-1_x': 'new',
      'deployd-eu-1_old': 'unused',
      'deployd-eu-1_idle': 'unused',
    });
  });

  it('is unknown without an engine', () => {
    const { volumes } = changesOf(after, [], { ...present(null, []), engine: null });
    expect(byName(volumes)).toEqual({ 'deployd-eu-1_data': 'unknown', 'deployd-eu-1_x': 'unknown' });
  });
});

describe('an image', () => {
  const before = release(
    'services: {a: {image: app:1}, b: {image: "db:${TAG}"}, c: {image: old}, d: {image: "v:$DEPLOYD_VERSION"}}',
  );
  const after = release(
    'services: {a: {image: app:1}, b: {image: "db:${TAG}"}, c: {image: new}, d: {image: "v:$DEPLOYD_VERSION"}}',
    { version: '2' },
  );

  it('is compared by reference with the applied release', () => {
    expect(byName(changesOf(after, [], present(before, [])).images)).toEqual({
      'app:1': 'unchanged',
      'db:${TAG}': 'unknown',
      new: 'new',
      'v:2': 'new',
      old: 'unused',
      'v:1': 'unused',
    });
  });

  it('is named with the variables of the bundle', () => {
    const text =
      'services: {a: {image: "$REG/a:${TAG:-1}"}, b: {image: "b:${TAG?}${NO-}"}, c: {image: "c:${EMPTY:-1}"}, d: {image: "d:${TAG:+2}"}}';
    const variables = { REG: 'registry.example', TAG: '7', EMPTY: '' };
    const { images } = changesOf(release(text, { variables }), [], present(null, []));
    expect(images.map(({ name }) => name)).toEqual([
      ...['registry.example/a:7', 'b:7${NO-}', 'c:${EMPTY:-1}', 'd:${TAG:+2}'],
    ]);
  });

  it('is missing for a service that is built, and names no digest of a directory', () => {
    const text = 'services: {a: {build: .}, b: {image: "v:$DEPLOYD_SHA"}}';
    const { images } = changesOf({ ...release(text), sha: null }, [], present(null, []));
    expect(images).toEqual([{ name: 'v:of a directory', change: 'new' }]);
  });

  it('is unknown when the applied release is', () => {
    const { images } = changesOf(after, [], { ...present(null, []), applied: null });
    expect(new Set(images.map(({ change }) => change))).toEqual(new Set(['unknown']));
  });
});
