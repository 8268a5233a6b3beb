import { build } from 'esbuild';
import { bundleOptions } from '../bundle.ts';

const { metafile, outputFiles } = await build({ ...bundleOptions, write: false, metafile: true });
const inputs = Object.keys(metafile.inputs);

it.each(['cacheable-request', 'keyv', 'http-cache-semantics', 'tar/dist/esm/create.js', 'tar/dist/esm/unpack.js'])(
  'omits %s, which neither a download nor a bundle needs',
  (name) => {
    expect(inputs.filter((input) => input.includes(`node_modules/${name}`))).toEqual([]);
  },
);

it.each(['fs/promises', 'timers/promises'])('loads %s lazily', (name) => {
  const [file] = outputFiles;
  const loads = file!.text.split('\n').filter((line) => new RegExp(`require\\(['"](node:)?${name}['"]\\)`).test(line));
  expect(loads.length).toBeGreaterThan(1);
  expect(loads.filter((line) => !line.includes('get: () => require('))).toEqual([]);
});

it.each(['Intl.ListFormat', 'require("node:http2")'])('omits %s, which is slow to load', (text) => {
  expect(outputFiles.some((file) => file.text.includes(text))).toBe(false);
});
