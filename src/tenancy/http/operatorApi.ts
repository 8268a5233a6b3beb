import type { AnyOperatorRoute } from './operatorRoute.ts';

/** All routes of the operators' API. */
export const operatorRoutes: readonly AnyOperatorRoute[] = [];
