import files, { readFile } from 'node:fs/promises';
import timers from 'node:timers/promises';
import type { Plugin } from 'esbuild';

/** A factory of no-op functions: for debug logs and for code that is never called. */
const noopFactory = 'module.exports = () => () => {};';

/** Dependencies of libraries, and the code that replaces them. */
const stubbedPackages: Record<string, string> = {
  ...Object.fromEntries(
    [
      // transports and image builds of the engine's client
      ...['ssh2', '@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'tar-fs', '@balena/dockerignore', 'split-ca'],
      ...['debug', '@dabh/diagnostics', '@colors/colors/safe'],
      // installs a handler on every signal to remove lock files of a dying process: the next tick removes them
      'signal-exit',
    ].map((name) => [name, noopFactory]),
  ),
  // downloads are not cached
  'cacheable-request': 'exports.CacheError = class {};',
  // copies of the runtime's own modules
  'readable-stream': `module.exports = require('stream');`,
  'readable-stream/lib/_stream_writable.js': `module.exports = require('stream').Writable;`,
};

/** Code of a built-in module that is loaded when one of its exports is used. */
const lazyModule = (name: string, module: object) =>
  Object.keys(module)
    .map(
      (key) => `Object.defineProperty(exports, '${key}', { enumerable: true, get: () => require('${name}').${key} });`,
    )
    .join('\n');

/** Built-in modules that a library (`importer`, or any) loads at once although the agent needs them late or never. */
const stubbedModules: Record<string, { importer?: string; code: string }> = {
  // loads readline and directory watching too
  'node:fs/promises': { code: lazyModule('fs/promises', files) },
  'node:timers/promises': { code: lazyModule('timers/promises', timers) },
  zlib: { importer: 'dockerode', code: noopFactory },
  'node:child_process': { importer: 'commander', code: noopFactory },
  // got checks whether a download is piped to an HTTP/2 response; this never happens
  'node:http2': { importer: 'got', code: 'exports.constants = {}; exports.Http2ServerResponse = class {};' },
  // inspects each request completely for a debug log
  util: {
    importer: 'docker-modem',
    code: `module.exports = Object.create(require('util'), { inspect: { value: () => '' } });`,
  },
};

/** A line of a library that is slow at load time, and its replacement. */
const patchedLine = {
  file: /\/@sindresorhus\/is\/distribution\/index\.js$/,
  // loads language tables, for the text of a programming error
  from: 'new Intl.ListFormat',
  to: 'new (class { format(words) { return words.join(", "); } })',
};

/** Replaces modules that would be loaded without use, most of them in every tick, by stubs. */
export const stubPlugin: Plugin = {
  name: 'stubs',
  setup: (bundler) => {
    bundler.onResolve({ filter: anyOf(stubbedPackages) }, ({ path }) =>
      stub(path, stubbedPackages[path] ?? noopFactory),
    );
    bundler.onResolve({ filter: anyOf(stubbedModules) }, ({ path, importer }) => {
      const { importer: library, code = '' } = stubbedModules[path] ?? {};
      return library === undefined || importer.includes(`/node_modules/${library}/`) ? stub(path, code) : null;
    });
    bundler.onLoad({ filter: patchedLine.file }, async ({ path }) => {
      const contents = await readFile(path, 'utf8');
      if (!contents.includes(patchedLine.from)) throw new Error(`${path} has no ${patchedLine.from}`);
      return { contents: contents.replaceAll(patchedLine.from, patchedLine.to) };
    });
    bundler.onLoad({ filter: /.*/, namespace: 'stub' }, ({ pluginData }) => ({ contents: String(pluginData) }));
  },
};

function anyOf(names: object): RegExp {
  return new RegExp(`^(${Object.keys(names).join('|')})$`);
}

function stub(path: string, contents: string) {
  return { path, namespace: 'stub', pluginData: contents };
}
