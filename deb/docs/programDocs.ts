import type { PackageVersion, ChangelogEntry } from '../packageVersion.ts';
import type { Payload } from '../payload.ts';
import { maintainer } from '../control.ts';
import { completionsOf } from './completions.ts';
import { copyrightOf, type BundledProgram } from './copyright.ts';
import { debianChangelog } from './debianChangelog.ts';
import { runtimeOverrides } from './lintianOverrides.ts';
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
