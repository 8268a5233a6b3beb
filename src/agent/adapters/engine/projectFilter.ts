/** The filter of the engine's lists that selects what compose created for a project. */
export function projectFilter(project: string): { label: string[] } {
  return { label: [`com.docker.compose.project=${project}`] };
}
