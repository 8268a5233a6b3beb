import files, { readFile } from 'node:fs/promises';
import timers from 'node:timers/promises';
import type { Plugin } from 'esbuild';

/** A maker of functions that do nothing: for debug logs, and for whatever is never called. */
const nothing = 'module.exports = () => () => {};';

/** Packages that libraries bring along, and what stands in their place. */
const packages: Record<string, string> = {
  ...Object.fromEntries(
    [
      // transports and builds of the engine's client
      ...['ssh2', '@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'tar-fs', '@balena/dockerignore', 'split-ca'],
      ...['debug', '@dabh/diagnostics', '@colors/colors/safe'],
      // a handler on every signal, to remove the lock file of a process that dies: the next tick does that
      'signal-exit',
    ].map((name) => [name, nothing]),
  ),
  // no download is cached
  'cacheable-request': 'exports.CacheError = class {};',
  // copies of what the runtime has
  'readable-stream': `module.exports = require('stream');`,
  'readable-stream/lib/_stream_writable.js': `module.exports = require('stream').Writable;`,
};

/** A module of the runtime that is loaded once something of it is used. */
const late = (name: string, of: object) =>
  Object.keys(of)
    .map(
      (key) => `Object.defineProperty(exports, '${key}', { enumerable: true, get: () => require('${name}').${key} });`,
    )
    .join('\n');

/** Modules of the runtime that a library, or any where none is named, would load at once, and the agent late or never. */
const modules: Record<string, { of?: string; stand: string }> = {
  // brings what reads lines and watches directories along
  'node:fs/promises': { stand: late('fs/promises', files) },
  'node:timers/promises': { stand: late('timers/promises', timers) },
  zlib: { of: 'dockerode', stand: nothing },
  'node:child_process': { of: 'commander', stand: nothing },
  // nothing is served over HTTP/2 that a download could be piped to
  'node:http2': { of: 'got', stand: 'exports.constants = {}; exports.Http2ServerResponse = class {};' },
  // for a debug log it describes each request down to the last socket, whoever reads that
  util: {
    of: 'docker-modem',
    stand: `module.exports = Object.create(require('util'), { inspect: { value: () => '' } });`,
  },
};

/** A line of a library that costs much as soon as it is loaded, and what stands in its place. */
const line = {
  of: /\/@sindresorhus\/is\/distribution\/index\.js$/,
  // tables of languages, for the words of an error that a programmer would see
  from: 'new Intl.ListFormat',
  stand: 'new (class { format(words) { return words.join(", "); } })',
};

/** Keeps out of the bundle what would be loaded for nothing, most of it in every tick. */
export const lean: Plugin = {
  name: 'lean',
  setup: (bundler) => {
    bundler.onResolve({ filter: oneOf(packages) }, ({ path }) => standIn(path, packages[path] ?? nothing));
    bundler.onResolve({ filter: oneOf(modules) }, ({ path, importer }) => {
      const { of, stand = '' } = modules[path] ?? {};
      return of === undefined || importer.includes(`/node_modules/${of}/`) ? standIn(path, stand) : null;
    });
    bundler.onLoad({ filter: line.of }, async ({ path }) => {
      const contents = await readFile(path, 'utf8');
      if (!contents.includes(line.from)) throw new Error(`${path} has no ${line.from}`);
      return { contents: contents.replaceAll(line.from, line.stand) };
    });
    bundler.onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ pluginData }) => ({ contents: String(pluginData) }));
  },
};

function oneOf(names: object): RegExp {
  return new RegExp(`^(${Object.keys(names).join('|')})$`);
}

function standIn(path: string, contents: string) {
  return { path, namespace: 'stand-in', pluginData: contents };
}
