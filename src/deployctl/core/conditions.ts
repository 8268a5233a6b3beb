import { Option } from 'commander';
import type { Api } from './client.ts';
import { countOption } from './input.ts';
import { wholeSha } from './lists.ts';

/** Conditions of a promotion for an environment, from the command line. */
export interface PromotionOptions {
  ifDesired?: string;
  pipeline?: number;
}

/** `--if-desired`; an older service refuses it. */
export function ifDesiredOption(): Option {
  return new Option(
    '--if-desired <old-sha>',
    'promote only if the bundle <old-sha> is still the desired one; with `none`: only if no bundle is desired',
  );
}

/** `--pipeline`; an older service refuses it. */
export function pipelineOption(): Option {
  const meaning = 'number of this pipeline; refused if a pipeline with a higher number has promoted';
  return new Option('--pipeline <number>', meaning).argParser(countOption);
}

/** The conditions as fields of the API; without options they are left out, which older services accept. */
export async function conditionsOf(api: Api, env: string, { ifDesired, pipeline }: PromotionOptions) {
  const expected = async (text: string) => ({ if_desired: text === 'none' ? null : await wholeSha(api, text, env) });
  return {
    ...(ifDesired !== undefined && (await expected(ifDesired))),
    ...(pipeline !== undefined && { pipeline }),
  };
}
