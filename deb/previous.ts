import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from './pack.ts';
import { fixedPayload, maintainerScripts, type Content, type Payload } from './tree.ts';

/** How a stand-in package differs from the built one, beside its program, which does nothing. */
export interface StandIn {
  version: string;
  /** Replace the maintainer scripts, or add to them. */
  scripts?: Payload;
}

const program: Content = { text: '#!/bin/sh\n' };
const old = (name: string): Content => ({ from: join(import.meta.dirname, 'previous', name) });

/** The scripts of packages that were there before this project's, by version. */
export const previous: Record<'0.1.8' | '0.1.10', Payload> = {
  '0.1.8': { '/postinst': old('postinst'), '/prerm': old('prerm-0.1.8') },
  '0.1.10': { '/postinst': old('postinst'), '/prerm': old('prerm-0.1.10') },
};

/** Packs stand-ins that differ from the real package in their program, and in what is told; returns their directory. */
export async function packStandIns(standIns: Record<string, StandIn>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-standins-'));
  const payload = { ...fixedPayload(), '/usr/bin/deployd': program };
  const packed = Object.entries(standIns).map(([name, { version, scripts = {} }]) =>
    pack(join(dir, `${name}.deb`), {
      version,
      date: new Date(0),
      payload,
      libraries: '',
      scripts: { ...maintainerScripts(), ...scripts },
      level: 1,
    }),
  );
  await Promise.all(packed);
  return dir;
}
