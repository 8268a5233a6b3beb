export { down } from './down.ts';
export { pruneImages } from '../release/pruneImages.ts';
export { missingImages, runningImages } from './images.ts';
export { removeUnusedNetworks } from './networks.ts';
export { readFinishedOneShots } from './oneShots.ts';
export { pull } from './pull.ts';
export { restore } from './restore.ts';
export { startContainers } from './startContainers.ts';
export { waitUntilHealthy } from './waitUntilHealthy.ts';
