import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { bundleOptions, bundleProgram, ctlBundleOptions, tenancyBundleOptions } from './bundle.ts';

const sourcesOf = async (entry: string) =>
  (await bundleProgram(entry)).inputs.filter((file) => /^(src|machines)\//.test(file));

it.each([
  ['the agent', 'src/agent/cli.ts', /^src\/(tenancy|deployctl)\//],
  ['deployctl', 'src/deployctl/cli.ts', /^src\/(tenancy|agent\/(?!rules\/)|mesh)/],
])('%s has no source of another program in its bundle', async (_name, entry, foreign) => {
  const sources = await sourcesOf(entry);
  expect(sources).toContain(entry);
  expect(sources.filter((file) => foreign.test(file))).toEqual([]);
});

it.each([
  ['the agent', 'src/agent/cli.ts'],
  ['deployctl', 'src/deployctl/cli.ts'],
])('%s has its schemas compiled, and nothing that compiles or builds them', async (_name, entry) => {
  const { inputs } = await bundleProgram(entry);
  const tools =
    /^node_modules\/(typebox|ajv)\/(?!dist\/runtime\/)|^src\/core\/(compileSchema|config\/(valueTypes|sharedKeys))\.ts$/;
  expect(inputs).toContain('src/core/text.rules.ts');
  expect(inputs.filter((file) => tools.test(file))).toEqual([]);
});

it.each([
  ['the agent', 'src/agent/cli.ts'],
  ['the tenancy service', 'src/tenancy/cli.ts'],
])('%s loads what sends traces only where it is asked for', async (_name, entry) => {
  const { metafile } = await build({ ...bundleOptions, entryPoints: [entry], write: false, metafile: true });
  const sendsTraces = (file: string) =>
    /^(node_modules\/@opentelemetry\/|src\/core\/(sendSpans|spanQueue)\.ts)/.test(file);
  expect(Object.keys(metafile.inputs).filter(sendsTraces)).toContain('src/core/sendSpans.ts');
  const loaded = new Set([entry]);
  for (const file of loaded)
    for (const { path, kind } of metafile.inputs[file]?.imports ?? []) if (kind !== 'dynamic-import') loaded.add(path);
  expect([...loaded].filter(sendsTraces)).toEqual([]);
});

it('deployctl in one file uses nothing that Node 20, on which pipelines may run it, lacks', async () => {
  const { inputs } = await bundleProgram('src/deployctl/cli.ts');
  const newer =
    /\b(Map\.groupBy|Object\.groupBy|RegExp\.escape|Promise\.(try|withResolvers)|Array\.fromAsync)\b|\.(isSubsetOf|symmetricDifference)\(/;
  const own = inputs.filter((file) => /^(src|machines)\//.test(file));
  expect(own.filter((file) => newer.test(readFileSync(file, 'utf8')))).toEqual([]);
});

it.each([
  ['deployd', bundleOptions, 'v20.20.2', 78, 24],
  ['deployd-tenancy', tenancyBundleOptions, 'v20.20.2', 78, 24],
  ['deployctl', ctlBundleOptions, 'v18.20.0', 2, 20],
] as const)(
  '%s names the Node.js that it needs, before it loads anything',
  async (name, options, version, exit, least) => {
    const outfile = join(tempDir(), 'program.cjs');
    await build({ ...options, outfile });
    const older = `Object.defineProperty(process, 'version', { value: '${version}' }); require(${JSON.stringify(outfile)})`;
    const { status, stderr } = spawnSync(process.execPath, ['--eval', older], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([exit, `${name} needs Node.js ${least} or newer; this is ${version}\n`]);
  },
);

it('the tenancy service contains the bundled console, and not the bundler', async () => {
  const { source, inputs } = await bundleProgram('src/tenancy/cli.ts');
  expect(source).toContain('No connection since');
  expect(inputs).toEqual(expect.arrayContaining(['src/console/main.ts', 'node_modules/lit-html/lit-html.js']));
  expect(inputs.filter((file) => file.includes('node_modules/esbuild'))).toEqual([]);
});
