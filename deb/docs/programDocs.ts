import type { PackageVersion, ChangelogEntry } from '../packageVersion.ts';
import type { Payload } from '../payload.ts';
import { maintainer } from '../control.ts';
import { completionsOf } from './completions.ts';
import { copyrightOf, type BundledProgram } from './copyright.ts';
import { debianChangelog } from './changelogs.ts';
import { configPage, programPage, type ConfigPage, type ProgramPage } from './manPages.ts';

/** The sources of a package's documentation. */
export interface DocumentedProgram extends BundledProgram {
  page: ProgramPage;
  configPage?: ConfigPage;
  /** Of findings that are not the runtime's. */
  lintianOverrides?: string;
  changes: ChangelogEntry[];
  packageVersion: PackageVersion;
}

/** Manual pages, completions, licences, changelog and overrides of a program's package. */
export function programDocs(about: DocumentedProgram): Payload {
  const { name, noun, page, configPage: config, packageVersion } = about;
  const { bash, zsh, fish } = completionsOf(page.program);
  const changelog = debianChangelog(about.changes, { ...packageVersion, maintainer });
  return {
    [`/usr/share/man/man1/${name}.1.gz`]: { text: programPage(page, packageVersion), gzip: true },
    ...(config && {
      [`/usr/share/man/man5/${config.name}.5.gz`]: { text: configPage(config, packageVersion), gzip: true },
    }),
    [`/usr/share/bash-completion/completions/${name}`]: { text: bash },
    [`/usr/share/zsh/vendor-completions/_${name}`]: { text: zsh },
    [`/usr/share/fish/vendor_completions.d/${name}.fish`]: { text: fish },
    [`/usr/share/doc/${name}/copyright`]: { text: copyrightOf(about) },
    [`/usr/share/doc/${name}/changelog.gz`]: { text: changelog, gzip: true },
    [`/usr/share/lintian/overrides/${name}`]: { text: runtimeOverrides(name, noun) + (about.lintianOverrides ?? '') },
  };
}

/** Why lintian's findings about a program with the runtime in it are not faults; `noun` is what the program is called. */
function runtimeOverrides(name: string, noun: string): string {
  return `# The program is Node.js, whole, with ${noun} in it: the host needs no runtime. What Node's own build brings:
# its parts are the ones it was tested with, and it is replaced with every release of ${noun}
${name}: embedded-library *
# it is published as an executable at a fixed address; a build of our own would be tested by nobody else
${name}: hardening-no-pie [usr/bin/${name}]
# its release is built without these checks of the C library
${name}: hardening-no-fortify-functions [usr/bin/${name}]
# names and messages in its sources and in V8
${name}: spelling-error-in-binary *
# Its licence and those of what it embeds stand word for word in the copyright file:
# the text of Apache 2.0 is a part of it
${name}: copyright-file-contains-full-apache-2-license
# as is a postal address of the FSF
${name}: old-fsf-address-in-copyright-file
`;
}
