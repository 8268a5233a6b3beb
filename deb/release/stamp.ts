import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { version } from '../../src/core/commandLine.ts';
import { runScript, UserError } from '../userError.ts';

/** Variables of a published installer; it asks the user for an empty base. */
export interface InstallerStamp {
  version: string;
  /** URL before `/<ver>/<file>` at the package registry. */
  registry_base: string;
  /** URL before `/v<ver>/<file>` at the release host. */
  release_base: string;
}

/** The installer's text with its variables set. */
export function stampInstaller(script: string, stamp: InstallerStamp): string {
  return Object.entries<string>({ ...stamp }).reduce((text, [name, value]) => {
    if (!/^[A-Za-z0-9:/.%_~+-]*$/.test(value)) throw new UserError(`${name} cannot be ${value}: no plain address`);
    const [line, ...others] = text.match(new RegExp(`^${name}=.*$`, 'gm')) ?? [];
    if (line === undefined || others.length > 0) throw new UserError(`the installer has no single line ${name}=`);
    return text.replace(line, `${name}=${value}`);
  }, script);
}

if (import.meta.main)
  await runScript(async () => {
    const { values, positionals } = parseArgs({
      options: { 'registry-base': { type: 'string' }, 'release-base': { type: 'string' } },
      allowPositionals: true,
    });
    const [file] = positionals;
    if (file === undefined) throw new UserError('name the installer to be stamped');
    const bases = { registry_base: values['registry-base'] ?? '', release_base: values['release-base'] ?? '' };
    await writeFile(file, stampInstaller(await readFile(file, 'utf8'), { version, ...bases }));
  });
