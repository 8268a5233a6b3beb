import type { Plan } from '../../bundle/plan/plan.rules.ts';
import { withSignatures } from './plan.ts';

const judgedElsewhere = { codes: ['DISK_INSUFFICIENT'], why: 'there is no engine' } as Plan['not_judged'][number];
const plan = {
  sha: 'a'.repeat(64),
  bundle: { name: 'shop', env: 'eu-1', version: '1', sequence: 1 },
  refusals: [],
  not_judged: [judgedElsewhere],
} as unknown as Plan;
const keys = { keys: ['/etc/deployd/trust/release.pub'] };
const ofImages = 'signatures of images are in their registries, which an apply asks';

it.each<[string, Partial<Plan>, Parameters<typeof withSignatures>[1], string[]]>([
  ['no trust', {}, { bundles: null, images: null }, []],
  ['a trust of images', {}, { bundles: null, images: keys }, [ofImages]],
  ['both, without files', {}, { bundles: keys, images: keys }, [ofImages, 'name the signatures with --signatures']],
  ['both, for a directory', { sha: null }, { bundles: keys, images: keys }, [ofImages]],
  ['no manifest', { bundle: null }, { bundles: keys, images: keys }, []],
])('with %s the plan reports which signatures are not verified', async (_what, changes, trust, reasons) => {
  const { not_judged } = await withSignatures({ ...plan, ...changes }, trust, []);
  expect(not_judged.map(({ why }) => why)).toEqual([...reasons, judgedElsewhere.why]);
});
