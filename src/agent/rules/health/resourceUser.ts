import type { AttachedNetworks, ContainerInspection, ContainerListEntry, Mount } from './engineContainer.ts';

/** One container in the engine's list, with the fields that name the resources it uses. */
export interface ResourceUserListEntry extends Pick<ContainerListEntry, 'Id' | 'Names' | 'Labels'> {
  Image: string;
  ImageID: string;
  Mounts: Mount[] | null;
  NetworkSettings?: AttachedNetworks | null;
}

/** A container of any project, and the resources that cannot be removed while it exists. */
export interface ResourceUser {
  id: string;
  name: string;
  /** Compose project, null without one. */
  project: string | null;
  /** The image reference that it was created from, or an image id. */
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** Names of its volumes and networks. */
  volumes: string[];
  networks: string[];
}

/** The resources of a container, from the engine's list. */
export function resourceUserOfListEntry({
  Id,
  Names,
  Labels,
  Image,
  ImageID,
  Mounts,
  NetworkSettings,
}: ResourceUserListEntry): ResourceUser {
  const Name = Names?.find((each) => each.lastIndexOf('/') === 0) ?? Id;
  const about = { Id, Name, Image: ImageID, Mounts: Mounts ?? [], Config: { Image, Labels } };
  return resourceUserOf({ ...about, ...(NetworkSettings && { NetworkSettings }) });
}

/** The resources of a container, from its inspection. */
export function resourceUserOf(
  info: Pick<ContainerInspection, 'Id' | 'Name' | 'Image' | 'Config' | 'Mounts' | 'NetworkSettings'>,
): ResourceUser {
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    project: info.Config.Labels?.['com.docker.compose.project'] ?? null,
    image: info.Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source).filter((source) => source !== ''),
    volumes: info.Mounts.flatMap(({ Name }) => Name ?? []),
    networks: Object.keys(info.NetworkSettings?.Networks ?? {}),
  };
}
