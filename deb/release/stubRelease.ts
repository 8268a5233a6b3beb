import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { architectures, debNameOf } from '../architecture.ts';
import { agentControl, ctlControl, tenancyControl } from '../control.ts';
import { buildDebFile } from '../debFile.ts';
import { writeDigest } from '../digest.ts';
import { buildRpmFile, rpmNameOf } from '../rpmFile.ts';
import { digestedNames } from './releaseFiles.ts';

/** Writes every file of a version; its packages are real, the programs in them are stubs. Returns the paths of the packages. */
export async function writeStubRelease(dir: string, version: string, program = '#!/bin/sh\n'): Promise<string[]> {
  await mkdir(dir, { recursive: true });
  const common = {
    version,
    date: new Date(1e12),
    compression: 'quick',
    libraries: '',
    scripts: {},
    changes: [],
  } as const;
  for (const architecture of architectures) {
    for (const control of [agentControl, tenancyControl, ctlControl]) {
      const payload = { [`/usr/bin/${control.name}`]: { text: program } };
      const file = join(dir, debNameOf(control.name, version, architecture));
      await buildDebFile(file, { ...common, architecture, control: { ...control, depends: [] }, payload });
    }
    const payload = { '/usr/bin/deployd': { text: program } };
    await buildRpmFile(join(dir, rpmNameOf(version, architecture)), { ...common, architecture, payload });
  }
  for (const name of ['deployctl.cjs', 'install.sh']) await writeFile(join(dir, name), program);
  const names = digestedNames(version);
  for (const name of names) await writeDigest(join(dir, name));
  return names.filter((name) => !name.endsWith('.cjs')).map((name) => join(dir, name));
}
