import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { version } from '../../src/version.ts';
import { carryOut, Mishap } from '../mishap.ts';

/** What a published installer knows of itself; an empty base is asked for when it runs. */
export interface Stamp {
  version: string;
  /** What stands before `/<ver>/<file>` at the package registry. */
  registry_base: string;
  /** What stands before `/v<ver>/<file>` at the release host. */
  release_base: string;
}

/** The installer with its variables filled in. */
export function stamped(script: string, stamp: Stamp): string {
  return Object.entries<string>({ ...stamp }).reduce((text, [name, value]) => {
    if (!/^[A-Za-z0-9:/.%_~+-]*$/.test(value)) throw new Mishap(`${name} cannot be ${value}: no plain address`);
    const [line, ...others] = text.match(new RegExp(`^${name}=.*$`, 'gm')) ?? [];
    if (line === undefined || others.length > 0) throw new Mishap(`the installer has no single line ${name}=`);
    return text.replace(line, `${name}=${value}`);
  }, script);
}

if (import.meta.main)
  await carryOut(async () => {
    const { values, positionals } = parseArgs({
      options: { 'registry-base': { type: 'string' }, 'release-base': { type: 'string' } },
      allowPositionals: true,
    });
    const [file] = positionals;
    if (file === undefined) throw new Mishap('name the installer to be stamped');
    const bases = { registry_base: values['registry-base'] ?? '', release_base: values['release-base'] ?? '' };
    await writeFile(file, stamped(await readFile(file, 'utf8'), { version, ...bases }));
  });
