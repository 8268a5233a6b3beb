import { expectImport, type ExpectedImport } from '../../../../fixtures/import/importing.ts';

const devices = [{ driver: 'nvidia', count: 'all', capabilities: ['gpu'] }];

it.each<[string, string, ExpectedImport]>([
  [
    "a service of NVIDIA's runtime reserves GPUs",
    '{image: x, runtime: nvidia}',
    {
      a: { image: 'x', deploy: { resources: { reservations: { devices } } } },
      changes: [/^service a: runtime: nvidia is a reservation of all GPUs now$/],
    },
  ],
  [
    'its other limits stay',
    '{image: x, runtime: nvidia, deploy: {resources: {limits: {cpus: "1"}, reservations: {memory: 1g}}}}',
    { a: { deploy: { resources: { limits: { cpus: '1' }, reservations: { memory: '1g', devices } } } } },
  ],
  [
    'one that reserves some itself keeps these',
    '{image: x, runtime: nvidia, gpus: [{driver: nvidia, count: 1}]}',
    { a: { image: 'x', gpus: [{ driver: 'nvidia', count: 1 }] } },
  ],
  ['another runtime stays', '{image: x, runtime: runsc}', { a: { image: 'x', runtime: 'runsc' } }],
])('%s', (_title, service, expected) => {
  expectImport([service, {}], expected);
});
