/** In `.env`, these would configure compose, docker, the process or the agent (`COMPOSE_FILE` selects other files). */
const reservedPrefixes = /^(DEPLOYD_|COMPOSE_|DOCKER_|BUILDKIT_|BUILDX_|LD_|XDG_|SSH_|PYTHON|GIT_)/;
const reservedNames =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|IFS|NODE_OPTIONS|SSL_CERT_FILE|SSL_CERT_DIR|_|SHLVL|OTEL_RESOURCE_ATTRIBUTES)$/;
const proxyVariables = /^(https?|no|all|ftp)_proxy$/i;

/** True for a variable that no bundle may set (spec §5). */
export function isReservedVariable(variable: string): boolean {
  return reservedPrefixes.test(variable) || reservedNames.test(variable) || proxyVariables.test(variable);
}
