import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentControl } from './control.ts';
import { buildDebFile } from './debFile.ts';
import { staticPayload, maintainerScripts, type PayloadFile, type Payload } from './payload.ts';

/** How a stub package differs from the real one; its program always is a stub. */
export interface StubPackage {
  version: string;
  /** Replaces maintainer scripts of the same name, or adds to them. */
  scripts?: Payload;
}

const program: PayloadFile = { text: '#!/bin/sh\n' };
const previousScript = (name: string): PayloadFile => ({ from: join(import.meta.dirname, 'previous', name) });

/** Maintainer scripts of earlier packages, by version. */
export const previousScripts: Record<'0.1.8' | '0.1.10', Payload> = {
  '0.1.8': { '/postinst': previousScript('postinst'), '/prerm': previousScript('prerm-0.1.8') },
  '0.1.10': { '/postinst': previousScript('postinst'), '/prerm': previousScript('prerm-0.1.10') },
};

/** Builds stub packages, `<name>.deb` each; returns their directory. */
export async function buildStubPackages(packages: Record<string, StubPackage>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-stub-packages-'));
  const payload = { ...staticPayload(), '/usr/bin/deployd': program };
  const builds = Object.entries(packages).map(([name, { version, scripts = {} }]) =>
    buildDebFile(join(dir, `${name}.deb`), {
      version,
      date: new Date(0),
      architecture: 'amd64',
      control: agentControl,
      payload,
      libraries: '',
      scripts: { ...maintainerScripts(), ...scripts },
    }),
  );
  await Promise.all(builds);
  return dir;
}
