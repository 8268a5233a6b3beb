import { build, type BuildOptions, type Plugin } from 'esbuild';

/** The engine's API client brings transports that the agent never uses (SSH, BuildKit sessions); they are left out. */
const unused: Plugin = {
  name: 'unused',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs)$/ }, ({ path }) => ({
      path,
      namespace: 'unused',
    }));
    bundler.onLoad({ filter: /.*/, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** How the agent becomes one file that needs nothing but the runtime. */
export const options = {
  entryPoints: ['src/cli.ts'],
  outfile: 'dist/deployd.cjs',
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  minifySyntax: true,
  banner: { js: '#!/usr/bin/env node' },
  plugins: [unused],
  logLevel: 'warning',
} satisfies BuildOptions;

if (import.meta.main) await build(options);
