import { printable } from '../../../protocol/printable.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf } from './services.ts';
import { itemsAt, textAt, valueAt } from './yamlNodes.ts';

const place = { owner: 'manifest', key: 'profiles' };

/** The chosen profiles that services have; `*` chooses all, as it does for compose. Tells those that stay inactive. */
export function chooseProfiles(work: ImportWork): string[] {
  const known = profilesOf(work);
  const { names, by } = work.choices.profiles;
  const chosen = known.filter((name) => names.includes(name) || names.includes('*'));
  for (const name of names.filter((one) => one !== '*' && !known.includes(one)))
    leaveUndecided(work, place, [`no service has the profile ${printable(name)}`, `take it out of ${by}`]);
  if (chosen.length > 0) tellChange(work, place, [printable(chosen.join(', ')), `chosen by ${by}`]);
  work.report.inactive_profiles.push(...known.filter((name) => !chosen.includes(name)));
  return chosen;
}

function profilesOf({ documents }: ImportWork): string[] {
  const names = servicePartsOf(documents).flatMap(({ map, document }) =>
    itemsAt(valueAt(map, document, 'profiles'), document).flatMap((item) => textAt(item, document) ?? []),
  );
  return [...new Set(names)];
}
