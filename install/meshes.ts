import { grant, type InstallWorld, openInstallWorld, optionsOf } from './installWorld.ts';
import type { CommandResult, ScratchHost } from './scratchHost.ts';
import { tunneller } from './stubPrograms.ts';

/** A mesh on a host: its directory, user and tunneller. */
export interface Mesh {
  mesh: string;
  dir: string;
  user: string;
  tunnel: string;
}

const own: Mesh = { mesh: 'mesh', dir: '/opt/mesh', user: 'mesh', tunnel: 'mesh-tunnel' };
const openZiti: Mesh = { mesh: 'openziti', dir: '/opt/openziti', user: 'ziti', tunnel: 'ziti-edge-tunnel' };

/** The meshes that the installer knows. */
export const meshes = [own, openZiti];

/** Options of an installer that enrols an identity, by the token in `/identity.jwt`. */
export const enrolling = { transport: 'sdk', 'identity-jwt': '/identity.jwt' };

/** Puts the tunneller of a mesh on a host, and its command for proxies. */
export async function addMesh(host: ScratchHost, { dir, user, tunnel }: Mesh = own): Promise<void> {
  await host.write(`${dir}/bin/${tunnel}`, tunneller, 0o755);
  await host.write(`${dir}/bin/${user}`, '#!/bin/sh\nexit 1\n', 0o755);
}

/** Where a host with an enrolment token is installed. */
export interface MeshWorld extends InstallWorld {
  /** Runs the installer with a complete configuration; by default it enrols the identity. */
  install: (changes?: Record<string, string | null>) => Promise<CommandResult>;
}

/** Starts the servers and makes the host, with its enrolment token. */
export async function openMeshWorld(): Promise<MeshWorld> {
  const world = await openInstallWorld();
  await world.host.write('identity.jwt', `${grant}\n`, 0o600);
  return {
    ...world,
    install: (changes = enrolling) => world.host.install(optionsOf(changes), { env: world.env }),
  };
}
