/** Each of these, in `.env`, steers compose, docker, the process or the agent itself (`COMPOSE_FILE` names other files). */
const prefixes = /^(DEPLOYD_|COMPOSE_|DOCKER_|BUILDKIT_|BUILDX_|LD_|XDG_|SSH_|LC_|PYTHON|GIT_)/;
const names =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|LANG|TMPDIR|TZ|IFS|NODE_OPTIONS|SSL_CERT_FILE|SSL_CERT_DIR|_|SHLVL|OTEL_RESOURCE_ATTRIBUTES)$/;
const proxies = /^(https?|no|all|ftp)_proxy$/i;

/** True for a variable that no bundle may supply (spec §5). */
export function isReserved(variable: string): boolean {
  return prefixes.test(variable) || names.test(variable) || proxies.test(variable);
}
