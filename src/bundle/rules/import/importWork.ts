import { addOnce, type ImportChoices, type ImportReport } from './importReport.ts';
import type { ProjectDocument } from './projectDocument.ts';
import type { ProjectTree } from './projectTree.ts';
import type { VariableRegister } from './variableRegister.ts';

/** An import at work: its steps change the documents, and say so in the report. */
export interface ImportWork {
  readonly tree: ProjectTree;
  readonly choices: ImportChoices;
  readonly documents: ProjectDocument[];
  readonly register: VariableRegister;
  readonly report: ImportReport;
  /** Files that come along: project paths by bundle paths. */
  readonly copies: Map<string, string>;
  /** Bundle paths by project paths, of files and directories. */
  readonly paths: Map<string, string>;
  /** Project paths of the env files that come along. */
  readonly envFiles: Set<string>;
  /** Names of the volumes that take the place of directories, by project path. */
  readonly volumes: Map<string, string>;
}

/** Where in the project something is. */
export interface Place {
  owner: string;
  key: string;
}

/** Tells a change. */
export function tellChange({ report }: Pick<ImportWork, 'report'>, place: Place, [what, why]: [string, string]): void {
  addOnce(report.changes, { ...place, what: masked(what), why });
}

/** Tells what is left to decide. */
export function leaveUndecided(
  { report }: Pick<ImportWork, 'report'>,
  place: Place,
  [what, cure]: [string, string],
): void {
  addOnce(report.undecided, { ...place, what: masked(what), cure });
}

/** A text of a project's file without the passwords that URLs and mount options may hold. */
function masked(text: string): string {
  return text
    .replace(/(:\/\/[^\s/@:]*:)[^\s/@]*@/g, '$1…@')
    .replace(/\b(\w*pass\w*|\w*secret|token)=[^\s,;&]+/gi, '$1=…');
}
