import { validateVolumes, type DeclaredVolume, type ExistingVolume } from './divergedVolumes.ts';

const declared = { key: 'data', name: null, driver: null, driver_opts: {} };
const found = { name: 'deployd-eu-1_data', driver: 'local', options: {} };

describe('a volume that would have to be recreated (spec §12.2)', () => {
  const nfs = { type: 'nfs', device: ':/a' };

  it.each<[string, Partial<DeclaredVolume>, Partial<ExistingVolume>[]]>([
    ['does not exist', { driver: 'x' }, []],
    ['has another name', { driver: 'x', name: 'data' }, [{}]],
    ['is equal', {}, [{}]],
    ['has the driver and the options that the bundle names', { driver: 'local', driver_opts: nfs }, [{ options: nfs }]],
    ['has a variable as its driver', { driver: '$DRIVER' }, [{}]],
    ['has a variable in its options', { driver: 'x', driver_opts: { device: ':/${DIR}' } }, [{}]],
  ])('is none when the volume %s', (_, bundle, engine) => {
    const existing = engine.map((volume) => ({ ...found, ...volume }));
    expect(validateVolumes([{ ...declared, ...bundle }], existing, 'deployd-eu-1')).toBeNull();
  });

  it.each<[string, Partial<DeclaredVolume>, Partial<ExistingVolume>, string]>([
    ['its driver', { driver: 'x' }, {}, 'driver is local, the bundle says x'],
    ['its driver, by default local', {}, { driver: 'x' }, 'driver is x, the bundle says local'],
    [
      'its driver, under its own name',
      { name: 'own', driver: 'x' },
      { name: 'own' },
      'driver is local, the bundle says x',
    ],
    ['one option more', { driver_opts: nfs }, { options: { type: 'nfs' } }, 'driver options differ'],
    ['one option less', { driver_opts: { type: 'nfs' } }, { options: nfs }, 'driver options differ'],
    ['another value', { driver_opts: nfs }, { options: { ...nfs, device: ':/b' } }, 'driver options differ'],
  ])('diverges by %s', (_, bundle, engine, problem) => {
    const refusal = validateVolumes([{ ...declared, ...bundle }], [{ ...found, ...engine }], 'deployd-eu-1');
    expect(refusal).toEqual({
      code: 'VOLUME_DIVERGED',
      detail: `volume data: ${problem}`,
      faults: [{ text: `volume data: ${problem}`, cure: 'rename the volume, or remove it by hand' }],
    });
  });

  it('is reported with all others', () => {
    const logs = { ...declared, key: 'logs', driver: 'y' };
    const engine = [found, { ...found, name: 'deployd-eu-1_logs' }];
    expect(validateVolumes([{ ...declared, driver: 'x' }, logs], engine, 'deployd-eu-1')?.detail).toBe(
      'volume data: driver is local, the bundle says x; volume logs: driver is local, the bundle says y',
    );
  });
});
